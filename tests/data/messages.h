// What a call that must fail says.
#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "configs/error.h"

namespace skipless::test {

/// The message of the UserError that `call` throws; fails the test when it throws nothing or something else.
template <class Call>
std::string user_error_of(Call&& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  FAIL("expected a UserError, got none");
  return {};
}

}  // namespace skipless::test
