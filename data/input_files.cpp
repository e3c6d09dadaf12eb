#include "data/input_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "configs/error.h"
#include "data/byte_source.h"

namespace skipless {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 54> kTextExtensions = {
    ".adoc", ".asm",  ".bash",  ".bat", ".c",     ".cc",  ".cfg", ".cmake", ".cpp",  ".cs",  ".css",
    ".cu",   ".cuh",  ".cxx",   ".f90", ".go",    ".h",   ".hh",  ".hpp",   ".hs",   ".htm", ".html",
    ".ini",  ".java", ".jl",    ".js",  ".jsonl", ".jsx", ".kt",  ".lua",   ".m",    ".md",  ".ml",
    ".php",  ".pl",   ".ps1",   ".py",  ".pyi",   ".pyx", ".r",   ".rb",    ".rs",   ".rst", ".scala",
    ".sh",   ".sql",  ".swift", ".tex", ".toml",  ".ts",  ".tsx", ".txt",   ".yaml", ".yml"};

std::int64_t modification_time(const struct stat& status) {
  constexpr std::int64_t kNanoseconds = 1000000000;
  return status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec;
}

bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

/// `relative`: path below the folder that was given.
bool is_excluded(const std::vector<std::string>& patterns, const fs::path& relative) {
  for (const std::string& pattern : patterns) {
    const bool of_path = pattern.find('/') != std::string::npos;
    if (matches(pattern, of_path ? relative.generic_string() : relative.filename().string())) return true;
  }
  return false;
}

bool is_selected(const std::vector<std::string>& globs, const fs::path& relative) {
  if (globs.empty()) {
    const std::string extension = without_compression(relative).extension().string();
    if (compression_of(relative) != Compression::none && extension == ".json") return true;
    return std::find(kTextExtensions.begin(), kTextExtensions.end(), extension) != kTextExtensions.end();
  }
  for (std::string pattern : globs) {
    const bool of_path = pattern.find('/') != std::string::npos;
    if (matches(pattern, of_path ? relative.generic_string() : relative.filename().string())) return true;
    // "**/x" is also x itself.
    if (pattern.starts_with("**/") && matches(pattern.substr(3), relative.generic_string())) return true;
  }
  return false;
}

class Finder {
 public:
  explicit Finder(const InputSelection& selection) : selection_(selection) {
    std::error_code ignored;
    if (!selection.never.empty()) never_ = fs::weakly_canonical(selection.never, ignored);
  }

  void add(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found || error) {
      throw UserError(fmt::format("input '{}': {}", path.string(),
                                  error ? error.message() : std::string("no such file or folder")));
    }
    if (status.type() == fs::file_type::directory) {
      add_folder(path);
    } else if (status.type() == fs::file_type::regular) {
      if (is_excluded(selection_.excludes, path.filename())) {
        ++found_.skipped["excluded"];
      } else {
        add_file(path.string(), true);
      }
    } else {
      throw UserError(fmt::format("input '{}' is neither a file nor a folder", path.string()));
    }
  }

  InputFiles take() { return std::move(found_); }

 private:
  void add_folder(const fs::path& folder) {
    std::vector<std::string> chosen;  // paths below the folder
    search(folder, folder, chosen);
    std::sort(chosen.begin(), chosen.end());
    for (const std::string& relative : chosen) add_file((folder / relative).string(), false);
  }

  void search(const fs::path& root, const fs::path& folder, std::vector<std::string>& chosen) {
    std::error_code error;
    if (!never_.empty() && fs::weakly_canonical(folder, error) == never_) {
      ++found_.skipped["the output folder"];
      return;
    }
    fs::directory_iterator entries(folder, error);
    if (error) throw UserError(fmt::format("cannot read the folder '{}': {}", folder.string(), error.message()));
    for (const fs::directory_entry& entry : entries) {
      const fs::path relative = entry.path().lexically_relative(root);
      std::error_code ignored;
      if (entry.path().filename().string().starts_with('.')) {
        ++found_.skipped["hidden"];
      } else if (is_excluded(selection_.excludes, relative)) {
        ++found_.skipped["excluded"];
      } else if (entry.is_directory(ignored)) {
        if (entry.is_symlink(ignored)) {
          ++found_.skipped["linked folder"];  // it could lead back here
        } else {
          search(root, entry.path(), chosen);
        }
      } else if (!entry.is_regular_file(ignored)) {
        ++found_.skipped["not a file"];  // a broken link, a socket
      } else if (!is_selected(selection_.globs, relative)) {
        ++found_.skipped["other kind of file"];
      } else {
        chosen.push_back(relative.generic_string());
      }
    }
  }

  void add_file(const std::string& path, bool named) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      throw UserError(fmt::format("input '{}': {}", path, std::strerror(errno)));
    }
    if (!seen_[status.st_dev].insert(status.st_ino).second) {
      ++found_.skipped["the same file again"];
      return;
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    found_.files.push_back({.path = path, .named = named, .size = size, .modified = modification_time(status)});
    found_.bytes += size;
  }

  const InputSelection& selection_;
  fs::path never_;
  InputFiles found_;
  std::map<dev_t, std::unordered_set<ino_t>> seen_;
};

std::vector<std::string> expand(const std::string& pattern) {
  ::glob_t result{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &result);
  std::vector<std::string> paths;
  for (std::size_t i = 0; status == 0 && i < result.gl_pathc; ++i) paths.emplace_back(result.gl_pathv[i]);
  ::globfree(&result);
  if (paths.empty()) throw UserError(fmt::format("input '{}' matches no file", pattern));
  return paths;
}

}  // namespace

bool InputFile::is_json_lines() const {
  const std::string extension = without_compression(path).extension().string();
  return extension == ".jsonl" || (extension == ".json" && compression_of(path) != Compression::none);
}

bool is_unchanged(const InputFile& file) {
  if (file.modified == 0) return true;
  struct stat status {};
  return ::stat(file.path.c_str(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) == file.size &&
         modification_time(status) == file.modified;
}

InputFiles find_input_files(const InputSelection& selection) {
  if (selection.paths.empty()) throw UserError("no input: give files, folders or patterns");
  Finder finder(selection);
  for (const std::string& path : selection.paths) {
    std::error_code ignored;
    if (!fs::exists(path, ignored) && path.find_first_of("*?[") != std::string::npos) {
      for (const std::string& match : expand(path)) finder.add(match);
    } else {
      finder.add(path);
    }
  }
  InputFiles found = finder.take();
  if (found.files.empty()) {
    std::vector<std::string> reasons;
    for (const auto& [reason, count] : found.skipped) reasons.push_back(fmt::format("{} {}", count, reason));
    throw UserError(fmt::format("no input file is left in '{}' (left out: {})", fmt::join(selection.paths, "', '"),
                                reasons.empty() ? "nothing" : fmt::format("{}", fmt::join(reasons, ", "))));
  }
  return found;
}

}  // namespace skipless
