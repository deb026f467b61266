// Paths of management calls on one table.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace stator::server {

// NAME of /_stator/tables/NAME and `call`, which begins with a slash; nullopt: another path. A view
// of `path`.
inline std::optional<std::string_view> TableIn(std::string_view path, std::string_view call) {
  constexpr std::string_view kBefore = "/_stator/tables/";
  if (!path.starts_with(kBefore) || !path.ends_with(call)) return std::nullopt;
  path.remove_prefix(kBefore.size());
  path.remove_suffix(std::min(call.size(), path.size()));
  if (path.empty() || path.find('/') != std::string_view::npos) return std::nullopt;
  return path;
}

}  // namespace stator::server
