// One line of a Condition block, compiled: operator, key, values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "access/context.h"
#include "access/json.h"
#include "access/operand.h"
#include "access/pattern.h"
#include "base/result.h"

namespace stator::access {

// An ARN split at its first five colons. Views point into the text.
struct ArnView {
  std::array<std::string_view, 6> parts;  // "arn", partition, service, region, account, resource

  std::string_view partition() const { return parts[1]; }
  std::string_view service() const { return parts[2]; }
  std::string_view region() const { return parts[3]; }
  std::string_view account() const { return parts[4]; }
  std::string_view resource() const { return parts[5]; }
};
// False unless the text begins with "arn:" and has five colons.
[[nodiscard]] bool SplitArn(std::string_view text, ArnView* arn);

// Immutable; thread-safe.
class Condition {
 public:
  // Compiles a line. `values` is a string, number, boolean or a list of these. With `variables`
  // false "${" is plain text. kValidation for an unknown operator, for a key without a vendor, and
  // for values that the operator cannot read: a value that could never match would make a negated
  // operator in a Deny do nothing.
  static Result<Condition> Compile(std::string_view operation, std::string_view key,
                                   const JsonValue& values, bool variables);

  // Returns whether the request fulfils the line. The time is proportional to the number of the
  // line's values (for StringEquals without variables: its logarithm) times the number of the
  // request's values for the key.
  bool Holds(const RequestContext& context) const;

  // The keys that the line reads, those of variables included.
  KeySet keys() const { return keys_; }
  // Returns the heap memory of the line, besides the object itself.
  size_t heap_bytes() const;

 private:
  enum class Operator : uint8_t {
    kStringEquals,
    kStringEqualsIgnoreCase,
    kStringLike,
    kNumericEquals,
    kNumericLess,
    kNumericLessOrEqual,
    kNumericGreater,
    kNumericGreaterOrEqual,
    kDateEquals,
    kDateLess,
    kDateLessOrEqual,
    kDateGreater,
    kDateGreaterOrEqual,
    kBool,
    kBinaryEquals,
    kIpAddress,
    kArnLike,
    kNull,
  };
  enum class Set : uint8_t { kNone, kAll, kAny };
  enum class Outcome : uint8_t { kYes, kNo, kInvalid };
  // The five parts of an ARN after "arn".
  using ArnTemplate = std::vector<Template>;
  using Operand =
      std::variant<Template, Decimal, int64_t, bool, std::string, AddressRange, ArnTemplate>;

  Status SetOperator(std::string_view operation);
  Status AddValue(std::string_view text, bool variables);
  bool HoldsFor(std::string_view value, const RequestContext& context) const;
  Outcome Test(const Operand& operand, std::string_view value, const RequestContext& context) const;

  Operator operator_ = Operator::kStringEquals;
  Set set_ = Set::kNone;
  bool negated_ = false;
  bool if_exists_ = false;
  KeyName key_;
  KeySet keys_;
  std::vector<Operand> operands_;
  // The values of a StringEquals whose values are all literal, sorted.
  std::vector<std::string> sorted_;
};

}  // namespace stator::access
