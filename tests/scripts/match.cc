#include "match.h"

#include <fmt/format.h>

#include <vector>

namespace stator::scripts {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::element_type;
using simdjson::dom::object;

constexpr std::string_view kOthers = "...";

template <typename T>
std::string Short(T value) {
  std::string text = simdjson::minify(value);
  if (text.size() > 300)
    text = text.substr(0, 300) + "... (" + std::to_string(text.size()) + " bytes)";
  return text;
}

class Matcher {
 public:
  Matcher(std::string_view operation, Saved* saved) : operation_(operation), saved_(saved) {}

  std::optional<std::string> Compare(element expected, element actual, const std::string& path,
                                     std::string_view member, std::string_view parent) {
    std::string_view text;
    if (expected.get(text) == simdjson::SUCCESS) {
      if (text == "*") return std::nullopt;
      if (text.starts_with("{{save:") && text.ends_with("}}")) {
        (*saved_)[std::string(text.substr(7, text.size() - 9))] = simdjson::minify(actual);
        return std::nullopt;
      }
    }
    if (expected.is_object() && actual.is_object())
      return CompareObjects(expected, actual, path, member);
    if (expected.is_array() && actual.is_array()) {
      return Unordered(member, parent) ? CompareUnordered(expected, actual, path)
                                       : CompareOrdered(expected, actual, path);
    }
    if (expected.is_number() && actual.is_number()) {
      double left = 0;
      double right = 0;
      if (expected.get(left) == simdjson::SUCCESS && actual.get(right) == simdjson::SUCCESS &&
          left == right)
        return std::nullopt;
    } else if (expected.type() == actual.type() &&
               simdjson::minify(expected) == simdjson::minify(actual)) {
      return std::nullopt;
    }
    return fmt::format("{}: expected {}, got {}", path, Short(expected), Short(actual));
  }

 private:
  bool Unordered(std::string_view member, std::string_view parent) const {
    return member == "SS" || member == "NS" || member == "BS" || member == "Tags" ||
           member == "AttributeDefinitions" || (operation_ == "Scan" && member == "Items") ||
           (operation_ == "BatchGetItem" && parent == "Responses");
  }

  std::optional<std::string> CompareObjects(object expected, object actual, const std::string& path,
                                            std::string_view member) {
    bool others = false;
    for (const auto [key, value] : expected) {
      if (key == kOthers) {
        others = true;
        continue;
      }
      element found;
      if (actual.at_key(key).get(found) != simdjson::SUCCESS)
        return fmt::format("{}: there is no {}", path, key);
      if (auto difference = Compare(value, found, path + "." + std::string(key), key, member))
        return difference;
    }
    if (others) return std::nullopt;
    for (const auto [key, value] : actual) {
      element found;
      if (expected.at_key(key).get(found) != simdjson::SUCCESS) {
        return fmt::format("{}: {} is not expected: {}", path, key, Short(value));
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> CompareOrdered(array expected, array actual, const std::string& path) {
    if (expected.size() != actual.size()) {
      return fmt::format("{}: expected {} elements, got {}: {}", path, expected.size(),
                         actual.size(), Short(actual));
    }
    auto right = actual.begin();
    size_t at = 0;
    for (const element left : expected) {
      if (auto difference = Compare(left, *right, fmt::format("{}[{}]", path, at++), "", ""))
        return difference;
      ++right;
    }
    return std::nullopt;
  }

  std::optional<std::string> CompareUnordered(array expected, array actual,
                                              const std::string& path) {
    if (expected.size() != actual.size()) {
      return fmt::format("{}: expected {} elements, got {}: {}", path, expected.size(),
                         actual.size(), Short(actual));
    }
    std::vector<element> left;
    for (const element each : actual) left.push_back(each);
    for (const element wanted : expected) {
      bool found = false;
      for (size_t i = 0; i < left.size() && !found; ++i) {
        if (Compare(wanted, left[i], path, "", "")) continue;
        left.erase(left.begin() + static_cast<ptrdiff_t>(i));
        found = true;
      }
      if (!found)
        return fmt::format("{}: no element is {}; got {}", path, Short(wanted), Short(actual));
    }
    return std::nullopt;
  }

  const std::string_view operation_;
  Saved* const saved_;
};

}  // namespace

std::optional<std::string> Match(element expected, element actual, std::string_view operation,
                                 Saved* saved) {
  return Matcher(operation, saved).Compare(expected, actual, "", "", "");
}

}  // namespace stator::scripts
