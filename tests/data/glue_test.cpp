#include "data/glue.h"

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/data/messages.h"
#include "tests/shared_folder.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using test::TemporaryFolder;
using test::user_error_of;

namespace {

GlueExamples read(const TemporaryFolder& folder, std::string_view task, GlueSplit split, const std::string& content) {
  return read_glue(folder.write("file.tsv", content), glue_task(task), split);
}

std::vector<double> labels_of(const GlueExamples& read) {
  std::vector<double> labels;
  for (const auto& example : read.examples) labels.push_back(example.label);
  return labels;
}

std::string refusal(std::string_view task, GlueSplit split, const std::string& content) {
  const TemporaryFolder folder;
  return user_error_of([&] { read(folder, task, split, content); });
}

void check_says(const std::string& message, const std::vector<std::string>& parts) {
  for (const auto& part : parts) CHECK_THAT(message, Catch::Contains(part));
  CHECK(message.find('\n') == std::string::npos);
}

const std::string kMnliDev =
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\t"
    "sentence1\tsentence2\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label\n";

std::string mnli_row(const std::string& premise, const std::string& label1, const std::string& gold) {
  return "0\t1\t1c\tfiction\t( a )\t( b )\t(ROOT a)\t(ROOT b)\t" + premise + "\tAnd more.\t" + label1 +
         "\tneutral\tneutral\tneutral\tneutral\t" + gold + "\n";
}

using Labels = std::vector<double>;
using Lines = std::vector<int64_t>;

}  // namespace

TEST_CASE("quotes in a TSV are text, and a line with too few columns is left out and named", "[glue]") {
  const TemporaryFolder folder;
  const auto qqp = read(folder, "qqp", GlueSplit::train,
                        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
                        "0\t1\t2\tWhat is \"it?\tWhat's it?\t1\n"
                        "1\t3\t4\tcut off here\t1\n"
                        "2\t5\t6\t\"\"no\"\" twice\tback\\slash\t0\n");
  REQUIRE(qqp.examples.size() == 2);
  CHECK(qqp.examples[0].first == "What is \"it?");
  CHECK(qqp.examples[1].first == "\"\"no\"\" twice");
  CHECK(qqp.examples[1].second == "back\\slash");
  CHECK(labels_of(qqp) == Labels{1, 0});
  CHECK(qqp.malformed == Lines{3});
  REQUIRE(qqp.notes().size() == 1);
  check_says(qqp.notes()[0], {"file.tsv", "1 malformed line", "6 columns", "line 3"});
}

TEST_CASE("a byte order mark, CRLF, an empty line, NUL and a last line without newline lose nothing", "[glue]") {
  const TemporaryFolder folder;
  const std::string nul(1, '\0');
  const auto mrpc = read(folder, "mrpc", GlueSplit::dev,
                         "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
                         "1\t101\t102\tone\ttwo\r\n\r\n"
                         "0\t103\t104\tthree" +
                             nul + "\tfour\r\n1\t5\t6\tcaf\xC3\xA9\tlast");
  CHECK(labels_of(mrpc) == Labels{1, 0, 1});
  CHECK(mrpc.examples[0].second == "two");
  CHECK(mrpc.examples[1].first == "three" + nul);
  CHECK(mrpc.examples[2].first == "caf\xC3\xA9");
  CHECK(mrpc.examples[2].second == "last");
  CHECK(mrpc.notes().empty());
}

TEST_CASE("MNLI goes by the name of its gold label, and rows without one are left out and counted", "[glue]") {
  const TemporaryFolder folder;
  const auto mnli = read(folder, "mnli", GlueSplit::dev,
                         kMnliDev + mnli_row("p0", "entailment", "contradiction") + mnli_row("p1", "neutral", "-") +
                             mnli_row("p2", "contradiction", "entailment") + mnli_row("p3", "-", "neutral"));
  REQUIRE(mnli.examples.size() == 3);
  const auto& names = glue_task("mnli").labels;
  CHECK(names[static_cast<size_t>(mnli.examples[0].label)] == "contradiction");
  CHECK(names[static_cast<size_t>(mnli.examples[1].label)] == "entailment");
  CHECK(names[static_cast<size_t>(mnli.examples[2].label)] == "neutral");
  CHECK(mnli.examples[1].first == "p2");
  CHECK(mnli.examples[1].second == "And more.");
  CHECK(mnli.undecided == 1);
  check_says(mnli.notes().at(0), {"1 row without an agreed label"});
  check_says(refusal("mnli", GlueSplit::train, "index\tsentence1\tsentence2\tlabel1\n0\ta\tb\tneutral\n"),
             {"file.tsv:1:", "'gold_label' or 'label'", "label1"});
  check_says(refusal("rte", GlueSplit::train, "index\tsentence1\tsentence2\tlabel\n0\ta\tb\t-\n"),
             {"file.tsv:2:", "'-'", "entailment, not_entailment"});
}

TEST_CASE("every task is read in its official layout, its columns in any order", "[glue]") {
  const TemporaryFolder folder;
  struct Case {
    std::string task;
    GlueSplit split;
    std::string content;
    std::string first, second;
    double label;
    int64_t index;
  };
  const std::vector<Case> cases = {
      {"mnli", GlueSplit::train,
       "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
       "sentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"
       "0\t31193\t31193n\tgovernment\t( x )\t( x )\t(ROOT x)\t(ROOT x)\tA p.\tA h.\tentailment\tneutral\n",
       "A p.", "A h.", 1, 0},
      {"mnli", GlueSplit::test,
       "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
       "sentence2_parse\tsentence1\tsentence2\n7\t1\t1\tx\tx\tx\tx\tx\tp\th\n",
       "p", "h", 0, 7},
      {"qnli", GlueSplit::train, "index\tquestion\tsentence\tlabel\n0\tWhen?\tIn May.\tnot_entailment\n", "When?",
       "In May.", 1, 0},
      {"qnli", GlueSplit::test, "index\tquestion\tsentence\n3\tq\ts\n", "q", "s", 0, 3},
      {"qqp", GlueSplit::test, "id\tquestion1\tquestion2\n390964\ta?\tb?\n", "a?", "b?", 0, 390964},
      {"rte", GlueSplit::dev, "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n", "a", "b", 0, 0},
      {"stsb", GlueSplit::dev,
       "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
       "0\tmain-news\theadlines\t2015test\t0001\tnone\tnone\ta\tb\t3.800\n",
       "a", "b", 3.8, 0},
      {"cola", GlueSplit::train, "gj04\t0\t*\tThem slept .\n", "Them slept .", "", 0, 0},
      {"cola", GlueSplit::train, "sentence\tlabel\nlabel\t1\n", "label", "", 1, 0},
      {"cola", GlueSplit::test, "index\tsentence\n5\tx\n", "x", "", 0, 5},
      {"sst2", GlueSplit::dev, "label\tsentence\n1\tcharming \n", "charming ", "", 1, 0},
      {"wnli", GlueSplit::dev, "index\tsentence1\tsentence2\tlabel\n0\ta\tb\t1\n", "a", "b", 1, 0},
      {"mrpc", GlueSplit::test, "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n2\t1\t2\ta\tb\n", "a", "b", 0, 2},
      {"ax", GlueSplit::test, "index\tsentence1\tsentence2\n0\tThe cat sat.\tIt sat.\n", "The cat sat.", "It sat.", 0,
       0}};
  for (const auto& c : cases) {
    CAPTURE(c.task, c.content);
    const auto examples = read(folder, c.task, c.split, c.content).examples;
    REQUIRE(examples.size() == 1);
    CHECK(examples[0].first == c.first);
    CHECK(examples[0].second == c.second);
    CHECK(examples[0].label == c.label);
    CHECK(examples[0].index == c.index);
  }
}

TEST_CASE("a label outside its range is refused with file, line and what is allowed", "[glue]") {
  check_says(refusal("sst2", GlueSplit::train, "sentence\tlabel\ngood\t1\nbad\t2\n"), {"file.tsv:3:", "'2'", "0, 1"});
  check_says(refusal("sst2", GlueSplit::dev, "sentence\tlabel\ngood\t-1\n"), {"file.tsv:2:", "'-1'"});
  check_says(refusal("sst2", GlueSplit::dev, "sentence\tlabel\ngood\t\n"), {"file.tsv:2:", "''"});
  check_says(refusal("qnli", GlueSplit::dev, "question\tsentence\tlabel\nq\ts\t0\n"), {"entailment, not_entailment"});
  for (const std::string score : {"5.001", "-0.1", "nan", "inf", "", "3,5", "four"}) {
    check_says(refusal("stsb", GlueSplit::train, "sentence1\tsentence2\tscore\na\tb\t" + score + "\n"),
               {"file.tsv:2:", "'" + score + "'", "from 0 to 5"});
  }
}

TEST_CASE("test files need no labels, and those that have some are read without a look at them", "[glue]") {
  const TemporaryFolder folder;
  const auto sst2 = read(folder, "sst2", GlueSplit::test, "sentence\tlabel\na\t-1\nb\t-1\n");
  CHECK(labels_of(sst2) == Labels{0, 0});
  CHECK(sst2.examples[1].index == 1);
  check_says(refusal("sst2", GlueSplit::dev, "index\tsentence\n0\ta\n"), {"no column 'label'", "index, sentence"});
  check_says(refusal("sst2", GlueSplit::test, "index\tsentence\nx\ta\n"), {"file.tsv:2:", "the index 'x'"});
}

TEST_CASE("files that cannot be used are refused in one sentence", "[glue]") {
  const TemporaryFolder folder;
  check_says(refusal("rte", GlueSplit::train, ""), {"file.tsv", "empty"});
  check_says(refusal("rte", GlueSplit::train, "index\tsentence1\tsentence2\tlabel\n"), {"file.tsv", "only a header"});
  check_says(refusal("rte", GlueSplit::train, "index\tsentence1\tsentence2\tlabel\n0\ta\n"),
             {"file.tsv", "no example", "1 malformed line"});
  check_says(refusal("rte", GlueSplit::train, "0\ta\tb\tentailment\n"), {"file.tsv:1:", "no column 'sentence1'"});
  check_says(refusal("rte", GlueSplit::train, "sentence1\tsentence2\tlabel\tlabel\na\tb\t0\t0\n"),
             {"2 columns are called 'label'"});
  check_says(refusal("cola", GlueSplit::dev, "a\tb\n"), {"no example", "4 columns"});
  check_says(refusal("sst2", GlueSplit::dev, "sentence\tlabel\nok\t1\nbad \xC3\t1\n"),
             {"file.tsv:3:", "not UTF-8: byte 0xC3 at offset 24"});
  check_says(refusal("sst2", GlueSplit::dev, std::string("\xFF\xFEs\0e\0", 6)), {"UTF-16"});
  check_says(user_error_of([&] { read_glue(folder.path() / "none.tsv", glue_task("rte"), GlueSplit::dev); }),
             {"none.tsv"});
  check_says(user_error_of([&] { read_glue(folder.path(), glue_task("rte"), GlueSplit::dev); }), {"a folder"});
}

TEST_CASE("tasks are found by name, and their folders by theirs", "[glue]") {
  CHECK(glue_task("SST-2").name == "sst2");
  CHECK(glue_task("CoLA").title == "CoLA");
  check_says(user_error_of([] { glue_task("mrcp"); }), {"'mrcp'", "did you mean 'mrpc'", "mnli", "ax"});
  check_says(user_error_of([] { glue_task(""); }), {"''"});
  const TemporaryFolder folder;
  folder.write("diagnostic/diagnostic.tsv", "");
  CHECK(glue_folder(folder.path(), glue_task("ax")).filename() == "diagnostic");
  check_says(user_error_of([&] { glue_folder(folder.path(), glue_task("rte")); }), {"RTE", "it holds: diagnostic"});
  check_says(user_error_of([&] { glue_folder(folder.path() / "x", glue_task("rte")); }), {"not a folder"});
}

TEST_CASE("the table of tasks is sound", "[glue]") {
  std::set<std::string_view> names;
  for (const auto& task : glue_tasks()) {
    CAPTURE(task.name);
    CHECK(names.insert(task.name).second);
    CHECK(!task.folders.empty());
    CHECK(!task.test.empty());
    CHECK(!task.metrics.empty());
    CHECK(task.train.empty() == task.dev.empty());
    CHECK((task.is_regression() ? task.high > task.low : task.labels.size() >= 2));
    for (const auto& file : task.test) CHECK(file.submission.ends_with(".tsv"));
  }
  CHECK(names.size() == 10);
}

TEST_CASE("the cases of the shared folder are read as expected", "[glue]") {
  const auto cases = test::shared_folder() / "cases/glue";
  SKIPLESS_NEEDS(cases);
  const auto expected = nlohmann::json::parse(test::read_all(cases / "EXPECTED.json"));
  const std::map<std::string, std::pair<std::string, GlueSplit>> files = {
      {"QQP/train.tsv", {"qqp", GlueSplit::train}},
      {"MRPC/dev.tsv", {"mrpc", GlueSplit::dev}},
      {"CoLA/train.tsv", {"cola", GlueSplit::train}},
      {"CoLA/test.tsv", {"cola", GlueSplit::test}}};
  for (const auto& [name, wanted] : expected.items()) {
    CAPTURE(name);
    const auto& [task, split] = files.at(name);
    const auto read = read_glue(cases / name, glue_task(task), split);
    CHECK(read.examples.size() == wanted["examples"].get<size_t>());
    CHECK(read.malformed == wanted.value("malformed_lines", Lines{}));
    if (!wanted["labels"].is_null()) CHECK(labels_of(read) == wanted["labels"].get<Labels>());
  }
  const auto qqp = read_glue(cases / "QQP/train.tsv", glue_task("qqp"), GlueSplit::train);
  CHECK(qqp.examples[0].first == expected["QQP/train.tsv"]["question1_of_row0"].get<std::string>());
  const auto mrpc = read_glue(cases / "MRPC/dev.tsv", glue_task("mrpc"), GlueSplit::dev);
  CHECK(mrpc.examples[0].second == expected["MRPC/dev.tsv"]["last_cell_of_row0"].get<std::string>());
  CHECK(mrpc.examples.back().second == expected["MRPC/dev.tsv"]["last_cell_of_last_row"].get<std::string>());
}

TEST_CASE("the real files have their published numbers of examples and labels", "[glue]") {
  const auto glue = test::shared_folder() / "data/glue";
  SKIPLESS_NEEDS(glue);
  struct Counts {
    std::string task;
    size_t train, dev, test;
    size_t first_class_of_train;  // 0: a regression
  };
  const std::vector<Counts> wanted = {{"cola", 8551, 1043, 1063, 2528}, {"sst2", 67349, 872, 1821, 29780},
                                      {"rte", 2490, 277, 3000, 1249},   {"wnli", 635, 71, 146, 323},
                                      {"stsb", 5749, 1500, 1379, 0},    {"mrpc", 3668, 408, 1725, 3668 - 2474}};
  for (const auto& counts : wanted) {
    CAPTURE(counts.task);
    const GlueTask& task = glue_task(counts.task);
    const auto folder = glue_folder(glue, task);
    const auto train = read_glue(folder / task.train[0].name, task, GlueSplit::train);
    const auto dev = read_glue(folder / task.dev[0].name, task, GlueSplit::dev);
    const auto test = read_glue(folder / task.test[0].name, task, GlueSplit::test);
    CHECK(train.examples.size() == counts.train);
    CHECK(dev.examples.size() == counts.dev);
    CHECK(test.examples.size() == counts.test);
    CHECK(train.notes().empty());
    CHECK(dev.notes().empty());
    CHECK(test.notes().empty());
    CHECK(test.examples.back().index == static_cast<int64_t>(counts.test) - 1);
    if (task.is_regression()) continue;
    const auto labels = labels_of(train);
    CHECK(static_cast<size_t>(std::count(labels.begin(), labels.end(), 0.0)) == counts.first_class_of_train);
  }
}
