#include "cli/logging.h"

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>

#include "cli/standard_output.h"
#include "configs/printable.h"

namespace skipless {

namespace {

/// Plain text: what is good on standard output, what is not on standard error behind its level.
class ConsoleSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const bool is_problem = message.level >= spdlog::level::warn;
    std::string line;
    if (is_problem) {
      const auto level = spdlog::level::to_string_view(message.level);
      line = std::string(level.data(), level.size()) + ": ";
    }
    line += printable_lines({message.payload.data(), message.payload.size()});
    line += '\n';
    if (is_problem) {
      write_standard_error(line);
    } else {
      write_standard_output(line);
    }
  }
  void flush_() override {}
};

}  // namespace

const std::vector<std::string>& log_levels() {
  static const std::vector<std::string> kLevels{"debug", "info", "warning", "error", "off"};
  return kLevels;
}

void set_up_logging(const std::string& level) {
  auto console = std::make_shared<ConsoleSink>();
  console->set_level(spdlog::level::from_str(level));
  auto logger = std::make_shared<spdlog::logger>("skipless", console);
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::info);
  // Such as a full disk under train.log: said once, and no reason to stop.
  logger->set_error_handler([said = false](const std::string& problem) mutable {
    if (!said) write_standard_error(fmt::format("warning: the log is not complete: {}\n", problem));
    said = true;
  });
  spdlog::set_default_logger(logger);
}

}  // namespace skipless
