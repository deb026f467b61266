// Texts with wildcards and policy variables, as policies have them. Compiled once; matching takes
// time bounded by the product of both lengths and allocates only if a pattern has variables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "access/context.h"

namespace stator::access {

// Returns the heap memory of a string, besides the object itself. Used to count the memory of
// policies.
inline size_t HeapBytes(const std::string& text) {
  constexpr size_t kInPlace = 15, kHeader = 8;
  return text.capacity() <= kInPlace ? 0 : text.capacity() + 1 + kHeader;
}

// A pattern without variables: '*' stands for any text, '?' for any one character (a code point of
// UTF-8).
class Glob {
 public:
  Glob() = default;
  explicit Glob(std::string_view pattern) : Glob(pattern, false) {}
  // Compares ASCII letters of both cases as equal.
  static Glob IgnoringCase(std::string_view pattern) { return Glob(pattern, true); }

  bool Matches(std::string_view text) const;
  size_t heap_bytes() const { return HeapBytes(pattern_); }

 private:
  Glob(std::string_view pattern, bool ignore_case);

  std::string pattern_;  // lower case if ignore_case_
  bool has_wildcard_ = false;
  bool ignore_case_ = false;
};

// A value of a policy, with variables "${key}" and "${key, 'default'}" and the literals "${*}",
// "${?}" and "${$}", as far as the policy's version has them. Immutable; thread-safe.
class Template {
 public:
  enum class Wildcards { kLiteral, kActive };

  // With `variables` false "${" is plain text. "${" without a closing '}' is plain text too.
  Template(std::string_view text, bool variables, Wildcards wildcards);

  // Compares with a text of the request. False, and `*unresolved` true, if a variable without a
  // default has no single value in `context`. Text that variables bring in is literal.
  bool Matches(std::string_view text, const RequestContext& context, bool* unresolved) const;
  // Compares without regard to the case of ASCII letters.
  bool MatchesIgnoringCase(std::string_view text, const RequestContext& context,
                           bool* unresolved) const;
  // Appends the text with its variables replaced; false if one has no value. Wildcards stay.
  [[nodiscard]] bool Resolve(const RequestContext& context, std::string* out) const;

  bool has_variables() const { return has_variables_; }
  // True if the text is matched by comparing bytes alone.
  bool is_literal() const { return !has_variables_ && !has_wildcards_; }
  // Returns the text of a literal, after "${*}" and the like.
  std::string_view literal() const { return parts_.empty() ? std::string_view() : parts_[0].text; }
  // The keys that variables name.
  KeySet keys() const { return keys_; }
  // The memory that it has beside the object.
  size_t heap_bytes() const;

 private:
  struct Part {
    enum class Kind : uint8_t { kText, kAnyRun, kAnyOne, kVariable };
    Kind kind = Kind::kText;
    std::string text;  // kText: the text. kVariable: the default
    KeyName key;       // kVariable
    bool has_default = false;
  };
  void AddText(std::string_view text);
  void AddVariable(std::string_view inside);
  bool MatchesAny(std::string_view text, const RequestContext& context, bool ignore_case,
                  bool* unresolved) const;

  std::vector<Part> parts_;
  bool has_variables_ = false;
  bool has_wildcards_ = false;
  KeySet keys_;
};

}  // namespace stator::access
