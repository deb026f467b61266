#include "exchange/documents.h"

#include <fmt/format.h>

namespace stator::exchange {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

Error Refused(std::string_view what) { return Error(ErrorCode::kSerialization, std::string(what)); }

}  // namespace

Result<bool> Documents::Has(size_t position) {
  while (position >= buffer_.size()) {
    ASSIGN_OR_RETURN(const bool more, source_.More(&buffer_));
    if (!more) return false;
  }
  return true;
}

Result<bool> Documents::FindNext() {
  constexpr std::string_view kVersion = "$ion_1_0";
  size_t passed = 0;
  for (;;) {
    if (begin_ == buffer_.size()) {
      buffer_.clear();
      begin_ = 0;
    }
    ASSIGN_OR_RETURN(const bool has, Has(begin_));
    if (!has) return false;
    if (kind_ == Kind::kIon && buffer_[begin_] == '$') {
      ASSIGN_OR_RETURN(const bool whole, Has(begin_ + kVersion.size()));
      if (!whole || buffer_.compare(begin_, kVersion.size(), kVersion) != 0) return true;
      begin_ += kVersion.size();
      passed += kVersion.size();
    } else if (IsSpace(buffer_[begin_])) {
      // Packed white space inflates a thousand times.
      if (++passed > most_bytes_)
        return Refused(fmt::format("There are more than {} bytes of white space.", most_bytes_));
      ++begin_;
    } else {
      return true;
    }
  }
}

Result<std::optional<std::string_view>> Documents::Next() {
  if (begin_ > buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  ASSIGN_OR_RETURN(const bool found_one, FindNext());
  if (!found_one) return std::optional<std::string_view>();
  const bool ion = kind_ == Kind::kIon;
  if (buffer_[begin_] != '{')
    return Refused(ion ? "The text is no Ion struct." : "The text is no JSON object.");
  int depth = 0;
  char quote = 0;  // of the text that is open
  for (size_t i = begin_;; ++i) {
    if (i - begin_ >= most_bytes_)
      return Refused(
          fmt::format("A {} has more than {} bytes.", ion ? "struct" : "JSON object", most_bytes_));
    if (i >= buffer_.size()) {
      ASSIGN_OR_RETURN(const bool has, Has(i));
      if (!has)
        return Refused(ion ? "The text ends inside a struct."
                           : "The text ends inside a JSON object.");
    }
    const char c = buffer_[i];
    if (quote != 0) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '"' || (ion && c == '\'')) {
      quote = c;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      const std::string_view found = std::string_view(buffer_).substr(begin_, i + 1 - begin_);
      begin_ = i + 1;
      return std::optional<std::string_view>(found);
    }
  }
}

}  // namespace stator::exchange
