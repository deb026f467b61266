// The little XML that S3's replies need: elements by name, and their text. Every function takes
// steps in proportion to its text, whatever stands in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stator::s3 {

// Returns the raw content of the first element of that name; nullopt if there is none that ends.
// Attributes are passed over.
std::optional<std::string_view> ElementIn(std::string_view xml, std::string_view name);
// Returns the contents of the elements of that name, in order, and of the first `most` at most.
std::vector<std::string_view> ElementsIn(std::string_view xml, std::string_view name, size_t most);
// Returns the text of an element's content: entities and character references are replaced.
std::string XmlText(std::string_view content);
// Returns the text of the first element of that name; empty if there is none.
std::string TextIn(std::string_view xml, std::string_view name);

}  // namespace stator::s3
