// The hash of maps with string keys that are looked up by string_view.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace stator {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace stator
