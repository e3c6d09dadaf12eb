#include "eval/graph/dot.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace skipless {

namespace {

using Kind = BlockGraph::Kind;
using Part = BlockGraph::Part;

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + '"';
}

struct Look {
  std::string_view kind, shape, style, color;
};

Look look_of(Kind kind) {
  switch (kind) {
    case Kind::input:
      return {"input", "plaintext", "solid", "white"};
    case Kind::norm:
      return {"norm", "box", "filled,rounded", "#F9E79F"};
    case Kind::attention:
      return {"attention", "box", "filled", "#AED6F1"};
    case Kind::matrix:
      return {"matrix", "box", "filled", "#D5F5E3"};
    case Kind::gain:
      return {"gain", "ellipse", "filled", "white"};
    case Kind::sum:
      return {"sum", "circle", "filled", "white"};
    case Kind::operation:
      return {"operation", "box", "filled,rounded", "#E5E7E9"};
    case Kind::output:
      return {"output", "plaintext", "solid", "white"};
  }
  TORCH_CHECK(false, "a kind outside the enum");
}

std::string number_of(const GainValue& gain) {
  return gain.smallest == gain.largest ? fmt::format("{:.4g}", gain.smallest)
                                       : fmt::format("{:.4g} to {:.4g}", gain.smallest, gain.largest);
}

bool is_nothing(const GainValue& gain) {
  return gain.state == "fixed" && gain.smallest == gain.largest && (gain.smallest == 0 || gain.smallest == 1);
}

/// "alpha 1, beta 1 (trained)"; of attention without those that its formula shows.
std::string gains_of(const Part& part) {
  std::string text;
  for (size_t i = 0; i < part.gains.size(); ++i) {
    const auto& gain = part.gains[i];
    if (part.kind == Kind::attention && is_nothing(gain)) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}{}{}", gain.name, gain.name.empty() ? "" : " ", number_of(gain));
    const bool is_last = i + 1 == part.gains.size() || part.gains[i + 1].state != gain.state;
    if (is_last) text += fmt::format(" ({})", gain.state);
  }
  return text;
}

std::string lines(const std::vector<std::string>& texts) {
  std::string all;
  for (const auto& text : texts) {
    if (text.empty()) continue;
    if (!all.empty()) all += '\n';
    all += text;
  }
  return all;
}

/// 1234567 -> "1,234,567"
std::string grouped(int64_t n) {
  std::string digits = std::to_string(n);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

std::string label_of(const Part& part) {
  switch (part.kind) {
    case Kind::sum:
      return "+";
    case Kind::gain:
      return gains_of(part);
    case Kind::matrix:
      return lines(
          {part.name, fmt::format("{} × {}: {}", part.in, part.out, grouped(part.parameters)), gains_of(part)});
    case Kind::attention:
      return lines(
          {"P = " + part.formula, part.name, fmt::format("{} heads of {}", part.heads, part.out), gains_of(part)});
    case Kind::input:
    case Kind::output:
      return fmt::format("{} ({})", part.name, part.out);
    case Kind::norm:
    case Kind::operation:
      return lines({part.formula, part.name, gains_of(part)});
  }
  TORCH_CHECK(false, "a kind outside the enum");
}

}  // namespace

std::string dot_of(const BlockGraph& graph, const std::string& name) {
  const auto node = [&](size_t part) { return in_quotes(fmt::format("{}.{}", name, part)); };
  const int64_t parameters = graph.n_parameters(), skips = graph.n_skips(), norms = graph.count(Kind::norm);
  const auto counted = [](int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  const std::string title = fmt::format("{}\n{} parameters, {}, {}", name, grouped(parameters), counted(skips, "skip"),
                                        counted(norms, "norm"));
  std::string text = fmt::format(
      "digraph {} {{\n  label={}; labelloc=t; fontname=\"Helvetica\"; parameters={}; skips={}; norms={};\n"
      "  node [fontname=\"Helvetica\", fontsize=11, margin=\"0.12,0.06\", height=0.3, width=0.3];\n"
      "  edge [fontname=\"Helvetica\", fontsize=10, arrowsize=0.7];\n",
      in_quotes(name), in_quotes(title), parameters, skips, norms);
  for (size_t i = 0; i < graph.parts.size(); ++i) {
    const Part& part = graph.parts[i];
    const Look look = look_of(part.kind);
    text += fmt::format(
        "  {} [label={}, shape={}, style={}, fillcolor=\"{}\", kind={}, part={}, does={}, columns_in={}, "
        "columns_out={}, parameters={}, gains={}];\n",
        node(i), in_quotes(label_of(part)), look.shape, in_quotes(look.style), look.color, look.kind,
        in_quotes(part.name), in_quotes(part.formula), part.in, part.out, part.parameters, in_quotes(gains_of(part)));
    for (const auto& link : part.inputs) {
      text += fmt::format("  {} -> {} [label={}{}];\n", node(link.from), node(i), in_quotes(link.label),
                          link.is_skip ? ", skip=1, penwidth=2.5, color=\"#D55E00\"" : "");
    }
  }
  if (!graph.unused.empty()) {
    std::vector<std::string> names{"not used:"};
    names.insert(names.end(), graph.unused.begin(), graph.unused.end());
    text += fmt::format("  {} [label={}, shape=box, style=dashed, kind=unused];\n", in_quotes(name + ".unused"),
                        in_quotes(lines(names)));
  }
  return text + "}\n";
}

}  // namespace skipless
