#include "model/number_set.h"

#include <algorithm>

#include "model/value.h"

namespace stator::model {

bool AppendNumberSet(std::string* out, std::vector<Number> numbers) {
  const auto by_value = [](const Number& a, const Number& b) { return a < b; };
  if (!std::is_sorted(numbers.begin(), numbers.end(), by_value))
    std::sort(numbers.begin(), numbers.end(), by_value);
  if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end()) return false;
  std::string payload;
  AppendVarint(&payload, numbers.size());
  std::string text;
  for (const Number& number : numbers) {
    text.clear();
    number.AppendTo(&text);
    AppendVarint(&payload, text.size());
    payload.append(text);
  }
  out->push_back(static_cast<char>(Type::kNS));
  AppendVarint(out, payload.size());
  out->append(payload);
  return true;
}

}  // namespace stator::model
