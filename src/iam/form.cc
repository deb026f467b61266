#include "iam/form.h"

#include <algorithm>

#include "base/percent_code.h"

namespace stator::iam {

Result<Form> Form::Parse(std::string_view text) {
  if (text.size() > kMaxBytes) return ValidationError("The request is longer than 1 MB.");
  Form form;
  while (!text.empty()) {
    const size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    if (form.values_.size() == kMaxParameters)
      return ValidationError("The request has too many parameters.");
    const bool added = form.values_
                           .emplace(PercentDecode(pair.substr(0, equals), PlusSign::kSpace),
                                    PercentDecode(pair.substr(std::min(equals + 1, pair.size())),
                                                  PlusSign::kSpace))
                           .second;
    if (!added) return ValidationError("A parameter of the request occurs twice.");
  }
  return form;
}

std::optional<std::string_view> Form::Find(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::string_view Form::Member(std::string_view name, size_t n, std::string_view field) const {
  return Get(std::string(name) + ".member." + std::to_string(n) + "." + std::string(field));
}

std::vector<std::string_view> Form::List(std::string_view name) const {
  std::vector<std::string_view> list;
  for (;;) {
    const auto value = Find(std::string(name) + ".member." + std::to_string(list.size() + 1));
    if (!value) return list;
    list.push_back(*value);
  }
}

size_t Form::CountMembers(std::string_view name, std::string_view field) const {
  size_t count = 0;
  while (
      Find(std::string(name) + ".member." + std::to_string(count + 1) + "." + std::string(field)))
    ++count;
  return count;
}

std::vector<access::Tag> Form::Tags() const {
  std::vector<access::Tag> tags;
  const size_t count = CountMembers("Tags", "Key");
  for (size_t n = 1; n <= count; ++n)
    tags.push_back(
        {std::string(Member("Tags", n, "Key")), std::string(Member("Tags", n, "Value"))});
  return tags;
}

}  // namespace stator::iam
