// Accept-Encoding of HTTP.
#pragma once

#include <string_view>

namespace stator {

// True if the value of an Accept-Encoding names `coding`, which is in lower case, and does not give
// it the weight zero.
bool AcceptsEncoding(std::string_view accept, std::string_view coding);

}  // namespace stator
