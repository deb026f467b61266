// Two numbers, separated by a line feed: canonical and sortable forms round-trip, order by value is
// order by bytes, and a + b - b is a wherever nothing overflowed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/number.h"

namespace {

using stator::Result;
using stator::model::Number;

void Require(bool holds) {
  if (!holds) std::abort();
}

std::string Sortable(const Number& number) {
  std::string bytes;
  number.AppendSortable(&bytes);
  return bytes;
}

void CheckOne(const Number& number) {
  const std::string text = number.ToString();
  const Result<Number> again = Number::Parse(text);
  Require(again.ok() && *again == number && again->ToString() == text);
  Require(Number::FromCanonical(text) == number);
  const std::string bytes = Sortable(number) + "rest";
  std::string_view in = bytes;
  const Result<Number> read = Number::ReadSortable(&in);
  Require(read.ok() && *read == number && in == "rest");
  Require(number.SizeBytes() >= 1 && number.SizeBytes() <= 22);
  int64_t integer = 0;
  if (number.ToInt64(&integer)) Require(Number::FromInt(integer) == number);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string_view sortable = text;
  const Result<Number> from_bytes = Number::ReadSortable(&sortable);
  if (from_bytes.ok()) CheckOne(*from_bytes);

  const size_t cut = std::min(text.find('\n'), text.size());
  const Result<Number> a = Number::Parse(text.substr(0, cut));
  const Result<Number> b = Number::Parse(text.substr(std::min(cut + 1, text.size())));
  if (a.ok()) CheckOne(*a);
  if (!a.ok() || !b.ok()) return 0;
  Require((*a < *b) == (Sortable(*a) < Sortable(*b)));
  Require((*a == *b) == (Sortable(*a) == Sortable(*b)));
  const Result<Number> sum = Number::Add(*a, *b);
  if (!sum.ok()) return 0;
  CheckOne(*sum);
  const Result<Number> back = Number::Subtract(*sum, *b);
  if (back.ok()) Require(*back == *a);
  return 0;
}
