#include "data/input_files.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/data/messages.h"
#include "tests/temporary_folder.h"

using namespace skipless;
using test::TemporaryFolder;

namespace {

class Tree {
 public:
  Tree() {
    for (const char* name : {"b.py", "a.py", "a/z.py", "a/deep/x.txt", "a/deep/y.py", "tests/t.py", "a/tests/u.py",
                             "notes.md", "image.png", ".git/config.txt"}) {
      folder_.write(name, name);
    }
  }

  std::vector<std::string> find(const std::vector<std::string>& globs, const std::vector<std::string>& excludes,
                                std::vector<std::string> paths = {}) const {
    if (paths.empty()) paths = {folder_.path().string()};
    std::vector<std::string> names;
    for (const InputFile& file :
         find_input_files({.paths = paths, .globs = globs, .excludes = excludes, .never = {}}).files) {
      names.push_back(std::filesystem::path(file.path).lexically_relative(folder_.path()).string());
    }
    return names;
  }

  const TemporaryFolder& folder() const { return folder_; }
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  TemporaryFolder folder_;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("text and code of a folder is found in the order of its paths", "[input_files]") {
  const Tree tree;
  CHECK(tree.find({}, {}) ==
        Names{"a.py", "a/deep/x.txt", "a/deep/y.py", "a/tests/u.py", "a/z.py", "b.py", "notes.md", "tests/t.py"});
}

TEST_CASE("globs select and excludes leave out", "[input_files]") {
  const Tree tree;
  CHECK(tree.find({"*.py"}, {"tests"}) == Names{"a.py", "a/deep/y.py", "a/z.py", "b.py"});
  CHECK(tree.find({"*.png"}, {}) == Names{"image.png"});
  CHECK(tree.find({"a/*.py"}, {}) == Names{"a/deep/y.py", "a/tests/u.py", "a/z.py"});
  CHECK(tree.find({"**/x.txt", "**/a.py"}, {}) == Names{"a.py", "a/deep/x.txt"});
  CHECK(tree.find({}, {"a/*", "?.py"}) == Names{"notes.md"});
}

TEST_CASE("paths are taken in the order given, each file once", "[input_files]") {
  const Tree tree;
  CHECK(tree.find({}, {}, {tree.at("b.py"), tree.at("a"), tree.at("a/z.py"), tree.at("image.png")}) ==
        Names{"b.py", "a/deep/x.txt", "a/deep/y.py", "a/tests/u.py", "a/z.py", "image.png"});
  CHECK(tree.find({}, {}, {tree.at("?.py")}) == Names{"a.py", "b.py"});
  CHECK(tree.find({}, {}, {tree.at("a/*")}) == Names{"a/deep/x.txt", "a/deep/y.py", "a/tests/u.py", "a/z.py"});
}

TEST_CASE("a link to a folder above is not followed", "[input_files]") {
  const Tree tree;
  std::filesystem::create_directory_symlink(tree.folder().path(), tree.folder().path() / "a/loop");
  std::filesystem::create_symlink("nowhere", tree.folder().path() / "broken.py");
  std::filesystem::create_symlink("b.py", tree.folder().path() / "same.py");
  const InputFiles found =
      find_input_files({.paths = {tree.folder().path().string()}, .globs = {"*.py"}, .excludes = {}, .never = {}});
  CHECK(found.files.size() == 6);
  CHECK(found.skipped.at("linked folder") == 1);
  CHECK(found.skipped.at("not a file") == 1);
  CHECK(found.skipped.at("the same file again") == 1);
}

TEST_CASE("nothing below the folder to write is taken", "[input_files]") {
  const Tree tree;
  const InputFiles found = find_input_files(
      {.paths = {tree.folder().path().string()}, .globs = {"*"}, .excludes = {}, .never = tree.folder().path() / "a"});
  CHECK(found.files.size() == 5);
}
