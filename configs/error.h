// The two ways in which a command can fail, as exceptions. A programmer's mistake is neither: it is TORCH_CHECK.
#pragma once

#include <stdexcept>
#include <string>

namespace skipless {

/// A mistake of the user: a config, a file or an argument that cannot be used. The message says what, where (file,
/// line, key, byte) and what was allowed. The program prints it alone on one line and exits with code 2.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A failure at run time of something that was asked for correctly: no space, a non-finite loss. Exit code 1.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace skipless
