// The files of the console as the build embedded them (cmake/console_files.cmake).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace stator::console {

struct File {
  std::string_view path;  // below /console/
  std::string_view type;
  std::string_view etag;  // without quotes; changes with the content
  bool immutable;         // the path changes with the content, too
  uint32_t bytes;         // inflated
  std::string_view gzip;
};

// Ascending by path. Empty in a build without the console.
std::span<const File> Files();

}  // namespace stator::console
