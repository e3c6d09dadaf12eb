// A file is the old one or the new one, whatever happens between.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>

#include <catch2/catch.hpp>

#include "configs/atomic_file.h"
#include "configs/error.h"
#include "tests/temporary_folder.h"

namespace skipless::test {
namespace {

using Catch::Matchers::Contains;

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs `body` in a child process, whose limits and death do not touch the test's own, and returns how it ended.
int status_of_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

bool exited_with(int status, int code) {
  return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

}  // namespace

TEST_CASE("a committed file holds what was written, in small and in large pieces", "[configs][atomic]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  std::string expected;
  AtomicFile file(path);
  for (const std::size_t bytes : {0u, 1u, 5u, 1000u, (1u << 20) - 1, 1u << 20, 3u << 20, 7u}) {
    std::string piece(bytes, 'x');
    for (std::size_t i = 0; i < bytes; i += 97) piece[i] = static_cast<char>('a' + (i + bytes) % 26);
    file.write(piece);
    expected += piece;
    CHECK(file.size() == expected.size());
  }
  CHECK_FALSE(std::filesystem::exists(path));
  file.commit();
  CHECK(content(path) == expected);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "file.tmp"));
}

TEST_CASE("bytes already written can be overwritten, whether they are on the disk yet or not", "[configs][atomic]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  AtomicFile file(path);
  file.write("....body");
  file.write_at(0, "head", 4);
  file.write(std::string(2u << 20, 'z'));
  file.write_at(2, "AD", 2);
  file.write("end");
  CHECK_THROWS_AS(file.write_at(file.size() - 1, "xx", 2), std::logic_error);
  file.commit();
  CHECK(content(path) == "heADbody" + std::string(2u << 20, 'z') + "end");
}

TEST_CASE("a finished file is whole on the disk while the old one still stands", "[configs][atomic]") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "file";
  write_file(path, "old");
  AtomicFile file(path);
  file.write("new text");
  file.finish();
  CHECK(content(path) == "old");
  CHECK(content(folder.path() / "file.tmp") == "new text");
  CHECK_THROWS_AS(file.write("more"), std::logic_error);
  file.commit();
  CHECK(content(path) == "new text");
}

TEST_CASE("a file that is not committed leaves the old one and nothing else", "[configs][atomic]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write(std::string(3u << 20, 'n'));
    CHECK(content(path) == "old");
  }
  CHECK(content(path) == "old");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "file.tmp"));
}

TEST_CASE("a process killed while it writes leaves the old file, and the next write succeeds", "[configs][atomic]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  write_file(path, "old");
  const int status = status_of_child([&] {
    AtomicFile file(path);
    file.write(std::string(5u << 20, 'k'));
    ::raise(SIGKILL);
    return 0;
  });
  REQUIRE(WIFSIGNALED(status));
  CHECK(content(path) == "old");
  CHECK(std::filesystem::exists(folder.path() / "file.tmp"));
  write_file(path, "new");
  CHECK(content(path) == "new");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "file.tmp"));
}

TEST_CASE("at a limit of file size the old file stays, and the message has path, bytes and reason",
          "[configs][atomic]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  write_file(path, "old");
  const int status = status_of_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_file(path, std::string(200'000, 'n'));
    } catch (const RunError& error) {
      const std::string text = error.what();
      const bool complete = text.find(path.string()) != std::string::npos &&
                            text.find("200000 bytes") != std::string::npos &&
                            text.find("File too large") != std::string::npos;
      return complete ? 7 : 8;
    }
    return 9;
  });
  CHECK(exited_with(status, 7));
  CHECK(content(path) == "old");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "file.tmp"));
}

TEST_CASE("on a full disk the old file stays and the message says why", "[configs][atomic]") {
  // The temporary name is a link to the device that is always full.
  REQUIRE(std::filesystem::exists("/dev/full"));
  const TemporaryFolder folder;
  const auto path = folder.path() / "file";
  write_file(path, "old");
  std::filesystem::create_symlink("/dev/full", folder.path() / "file.tmp");
  CHECK_THROWS_WITH(write_file(path, "new"), Contains("file'") && Contains("(3 bytes)") && Contains("No space left"));
  CHECK(content(path) == "old");
  // The failed file removed its temporary name.
  CHECK_NOTHROW(write_file(path, "newer"));
  CHECK(content(path) == "newer");
}

TEST_CASE("a file that has failed takes nothing more", "[configs][atomic]") {
  REQUIRE(std::filesystem::exists("/dev/full"));
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.path() / "file.tmp");
  AtomicFile file(folder.path() / "file");
  CHECK_THROWS_AS(file.write(std::string(2u << 20, 'x')), RunError);
  CHECK_FALSE(std::filesystem::exists(std::filesystem::symlink_status(folder.path() / "file.tmp")));
  CHECK_THROWS_AS(file.write("x"), std::logic_error);
  CHECK_THROWS_AS(file.commit(), std::logic_error);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "file"));
}

TEST_CASE("a path that cannot be a file is the user's mistake", "[configs][atomic]") {
  const TemporaryFolder folder;
  write_file(folder.path() / "file", "x");
  CHECK_THROWS_AS(write_file(folder.path() / "none" / "file", ""), UserError);
  CHECK_THROWS_WITH(write_file(folder.path() / "none" / "file", ""), Contains("No such file or directory"));
  CHECK_THROWS_AS(write_file(folder.path() / "file" / "file", ""), UserError);
  CHECK_THROWS_WITH(write_file(folder.path() / "file" / "file", ""), Contains("Not a directory"));
  CHECK_THROWS_AS(write_file(folder.path(), ""), UserError);
  CHECK_THROWS_WITH(write_file(folder.path(), ""), Contains("a folder"));
  CHECK_THROWS_AS(write_file("", ""), UserError);
  CHECK_THROWS_AS(write_file(folder.path() / "new" / "", ""), UserError);
  CHECK_THROWS_AS(write_file(folder.path() / std::string(300, 'n'), ""), UserError);
  CHECK_THROWS_WITH(write_file("/dev/full", "x"), Contains("not an ordinary file"));
  std::filesystem::create_directory(folder.path() / "taken.tmp");
  CHECK_THROWS_AS(write_file(folder.path() / "taken", ""), UserError);
}

TEST_CASE("a folder that may not be written is the user's mistake", "[configs][atomic]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "shut");
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(folder.path() / "shut", std::filesystem::perms(0555));
  // Root may write everywhere, so the child becomes nobody.
  const int status = status_of_child([&] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) return 6;
    int refused = 0;
    try {
      write_file(folder.path() / "shut" / "file", "x");
    } catch (const UserError&) {
      ++refused;
    }
    try {
      make_folder(folder.path() / "shut");
    } catch (const UserError&) {
      ++refused;
    }
    try {
      make_folder(folder.path() / "shut" / "inner");
    } catch (const UserError&) {
      ++refused;
    }
    return refused == 3 ? 7 : 8;
  });
  CHECK(exited_with(status, 7));
}

TEST_CASE("folders are made with their parents, and a file in the way is refused", "[configs][atomic]") {
  const TemporaryFolder folder;
  const auto deep = folder.path() / "a" / "b" / "c";
  make_folder(deep);
  make_folder(deep);
  CHECK(std::filesystem::is_directory(deep));
  write_file(folder.path() / "file", "x");
  CHECK_THROWS_AS(make_folder(folder.path() / "file"), UserError);
  CHECK_THROWS_WITH(make_folder(folder.path() / "file"), Contains("file'") && Contains("Not a directory"));
  CHECK_THROWS_AS(make_folder(folder.path() / "file" / "inner"), UserError);
  CHECK_THROWS_AS(make_folder(""), UserError);
}

}  // namespace skipless::test
