// Makes the renames and new files of a folder survive a power cut.
#pragma once

#include <filesystem>

namespace skipless {

/// fsync of a folder. RunError with the system's reason; a file system that cannot sync folders is fine.
void sync_folder(const std::filesystem::path& folder);

}  // namespace skipless
