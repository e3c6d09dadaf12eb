#include "models/sequence_head.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "configs/config_file.h"
#include "configs/error.h"
#include "models/safetensors.h"

namespace skipless {

namespace {

/// The head's settings as a file of their own.
struct HeadSection : ClassifierConfig {
  void resolve() {}
  void check(Problems&) const {}
};

}  // namespace

void write_sequence_head(const std::filesystem::path& path, const SequenceHead& head) {
  write_safetensors(path, {.tensors = head.tensors,
                           .metadata = {{"classifier", write_config(HeadSection{head.config})},
                                        {"labels", nlohmann::json(head.labels).dump()}}});
}

SequenceHead read_sequence_head(const std::filesystem::path& path) {
  auto file = read_safetensors(path);
  const auto text = file.metadata.find("classifier"), labels = file.metadata.find("labels");
  if (text == file.metadata.end() || labels == file.metadata.end()) {
    throw UserError(fmt::format("{}: not the head of a classifier", path.string()));
  }
  SequenceHead head{.config = parse_config<HeadSection>(text->second, path.string()),
                    .labels = {},
                    .tensors = std::move(file.tensors)};
  const auto list = nlohmann::json::parse(labels->second, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) throw UserError(fmt::format("{}: its labels are no list", path.string()));
  for (const auto& label : list) {
    if (!label.is_string()) throw UserError(fmt::format("{}: its labels are no texts", path.string()));
    head.labels.push_back(label.get<std::string>());
  }
  const auto last = head.tensors.find("head_w_2");
  if (last != head.tensors.end() && last->second.dim() == 2) head.config.n_labels = last->second.size(0);
  return head;
}

}  // namespace skipless
