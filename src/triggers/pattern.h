// Filter patterns of event source mappings: JSON documents that a change record's JSON matches or
// not.
//
//   pattern := { name: rule | pattern, ... }     all of them; a name given twice: the last counts
//   rule    := [ choice, ... ]                   one of them
//   choice  := string | number | true | false | null
//            | {"prefix": string} | {"suffix": string} | {"equals-ignore-case": string}
//            | {"exists": bool} | {"anything-but": not} | {"numeric": [op, number, ...]}
//   not     := string | number | [string | number, ...]
//            | {"prefix": s} | {"suffix": s} | {"equals-ignore-case": s}    s: string or strings
//   "$or"   := [ pattern, pattern, ... ]         one of them, besides the other names
//   op      := = < <= > >=
//
// "prefix" and "suffix" also take {"equals-ignore-case": string}. A record's array matches a rule
// if one of its elements does. Numbers are equal by value as doubles. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_function.h"
#include "simdjson.h"

namespace stator::triggers {

// [D] The service's limit of a pattern.
inline constexpr size_t kMostPatternBytes = 4096;
// [D] Filters of a mapping (5, and 10 on request).
inline constexpr size_t kMostFilters = 10;
// How often a pattern may look at one value of a record. The choices of a name are sorted, so that
// one look searches all of one kind; what "$or" lists, each "anything-but" and each "numeric" are
// looks of their own.
inline constexpr size_t kMostPatternCost = 100;

// Immutable; matching may run on any number of threads.
class Pattern {
 public:
  // Returns the pattern in `text`. kValidation, with a sentence that says where and why, for text
  // that is no pattern, is too long or too deep, and for a pattern that no record can match: a
  // "numeric" range that is empty, or one on a number of an item, whose JSON is a string.
  static Result<Pattern> Parse(std::string_view text);

  // Adds to *steps what it takes: one for each member of an object that is passed, and one for each
  // search in the choices of a name. They are at most kMostPatternCost times the members and
  // elements of the record. Returns nothing if `goes_on`, which is asked every few thousand steps,
  // said no.
  std::optional<bool> Matches(simdjson::dom::element record, uint64_t* steps,
                              FunctionRef<bool()> goes_on) const;

  struct Node;  // pattern.cc

 private:
  explicit Pattern(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace stator::triggers
