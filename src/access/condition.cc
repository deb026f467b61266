#include "access/condition.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/sigv4.h"
#include "access/steps.h"
#include "base/ascii.h"
#include "base/base64.h"

namespace stator::access {
namespace {

// Takes a prefix or suffix off, without regard to case.
bool TakePrefix(std::string_view prefix, std::string_view* text) {
  if (text->size() < prefix.size() || !EqualsIgnoringCase(text->substr(0, prefix.size()), prefix))
    return false;
  text->remove_prefix(prefix.size());
  return true;
}
bool TakeSuffix(std::string_view suffix, std::string_view* text) {
  if (text->size() < suffix.size() ||
      !EqualsIgnoringCase(text->substr(text->size() - suffix.size()), suffix))
    return false;
  text->remove_suffix(suffix.size());
  return true;
}

std::optional<bool> ParseBool(std::string_view text) {
  if (EqualsIgnoringCase(text, "true")) return true;
  if (EqualsIgnoringCase(text, "false")) return false;
  return std::nullopt;
}

}  // namespace

bool SplitArn(std::string_view text, ArnView* arn) {
  for (size_t i = 0; i < 5; ++i) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) return false;
    arn->parts[i] = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  arn->parts[5] = text;
  return arn->parts[0] == "arn";
}

Status Condition::SetOperator(std::string_view operation) {
  struct Name {
    std::string_view name;
    Operator op;
    bool negated = false;
  };
  static constexpr Name kNames[] = {
      {"StringEquals", Operator::kStringEquals},
      {"StringNotEquals", Operator::kStringEquals, true},
      {"StringEqualsIgnoreCase", Operator::kStringEqualsIgnoreCase},
      {"StringNotEqualsIgnoreCase", Operator::kStringEqualsIgnoreCase, true},
      {"StringLike", Operator::kStringLike},
      {"StringNotLike", Operator::kStringLike, true},
      {"NumericEquals", Operator::kNumericEquals},
      {"NumericNotEquals", Operator::kNumericEquals, true},
      {"NumericLessThan", Operator::kNumericLess},
      {"NumericLessThanEquals", Operator::kNumericLessOrEqual},
      {"NumericGreaterThan", Operator::kNumericGreater},
      {"NumericGreaterThanEquals", Operator::kNumericGreaterOrEqual},
      {"DateEquals", Operator::kDateEquals},
      {"DateNotEquals", Operator::kDateEquals, true},
      {"DateLessThan", Operator::kDateLess},
      {"DateLessThanEquals", Operator::kDateLessOrEqual},
      {"DateGreaterThan", Operator::kDateGreater},
      {"DateGreaterThanEquals", Operator::kDateGreaterOrEqual},
      {"Bool", Operator::kBool},
      {"BinaryEquals", Operator::kBinaryEquals},
      {"IpAddress", Operator::kIpAddress},
      {"NotIpAddress", Operator::kIpAddress, true},
      {"ArnEquals", Operator::kArnLike},
      {"ArnNotEquals", Operator::kArnLike, true},
      {"ArnLike", Operator::kArnLike},
      {"ArnNotLike", Operator::kArnLike, true},
      {"Null", Operator::kNull},
  };
  std::string_view base = operation;
  if (TakePrefix("ForAllValues:", &base)) {
    set_ = Set::kAll;
  } else if (TakePrefix("ForAnyValue:", &base)) {
    set_ = Set::kAny;
  }
  if_exists_ = TakeSuffix("IfExists", &base);
  for (const Name& name : kNames) {
    if (!EqualsIgnoringCase(base, name.name)) continue;
    if (name.op == Operator::kNull && if_exists_) break;
    operator_ = name.op;
    negated_ = name.negated;
    return OkStatus();
  }
  return ValidationError(fmt::format("Invalid Condition type : {}", operation));
}

Status Condition::AddValue(std::string_view text, bool variables) {
  const auto refuse = [&](std::string_view what) {
    return ValidationError(fmt::format("Condition value \"{}\" is not {}.", text, what));
  };
  const auto add_template = [&](std::string_view part, Template::Wildcards wildcards) -> Template {
    Template compiled(part, variables, wildcards);
    keys_.Add(compiled.keys());
    return compiled;
  };
  switch (operator_) {
    case Operator::kStringEquals:
    case Operator::kStringEqualsIgnoreCase:
      operands_.emplace_back(add_template(text, Template::Wildcards::kLiteral));
      return OkStatus();
    case Operator::kStringLike:
      operands_.emplace_back(add_template(text, Template::Wildcards::kActive));
      return OkStatus();
    case Operator::kNumericEquals:
    case Operator::kNumericLess:
    case Operator::kNumericLessOrEqual:
    case Operator::kNumericGreater:
    case Operator::kNumericGreaterOrEqual: {
      std::optional<Decimal> number = ParseDecimal(text);
      if (!number) return refuse("a number");
      operands_.emplace_back(*std::move(number));
      return OkStatus();
    }
    case Operator::kDateEquals:
    case Operator::kDateLess:
    case Operator::kDateLessOrEqual:
    case Operator::kDateGreater:
    case Operator::kDateGreaterOrEqual: {
      const std::optional<int64_t> date = ParseDate(text);
      if (!date) return refuse("a date of ISO 8601 or a number of seconds since 1970");
      operands_.emplace_back(*date);
      return OkStatus();
    }
    case Operator::kBool: {
      if (variables && text.find("${") != std::string_view::npos) {
        operands_.emplace_back(add_template(text, Template::Wildcards::kLiteral));
        return OkStatus();
      }
      const std::optional<bool> value = ParseBool(text);
      if (!value) return refuse("true or false");
      operands_.emplace_back(*value);
      return OkStatus();
    }
    case Operator::kNull: {
      const std::optional<bool> value = ParseBool(text);
      if (!value) return refuse("true or false");
      operands_.emplace_back(*value);
      return OkStatus();
    }
    case Operator::kBinaryEquals: {
      std::string bytes;
      if (!DecodeBase64(text, &bytes).ok()) return refuse("base64");
      operands_.emplace_back(std::move(bytes));
      return OkStatus();
    }
    case Operator::kIpAddress: {
      const std::optional<AddressRange> range = ParseAddressRange(text);
      if (!range) return refuse("an IP address or a range in CIDR notation");
      operands_.emplace_back(*range);
      return OkStatus();
    }
    case Operator::kArnLike: {
      ArnView arn;
      if (!SplitArn(text, &arn)) return refuse("an ARN");
      ArnTemplate parts;
      for (size_t i = 1; i < arn.parts.size(); ++i)
        parts.push_back(add_template(arn.parts[i], Template::Wildcards::kActive));
      operands_.emplace_back(std::move(parts));
      return OkStatus();
    }
  }
  return InternalError("unknown condition operator");
}

Result<Condition> Condition::Compile(std::string_view operation, std::string_view key,
                                     const JsonValue& values, bool variables) {
  Condition condition;
  TRY(condition.SetOperator(operation));
  if (key.find(':') == std::string_view::npos) {
    return ValidationError(
        "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.");
  }
  condition.key_ = ResolveKey(key);
  condition.keys_.Add(condition.key_.key);
  const auto add = [&](const JsonValue& value) -> Status {
    switch (value.kind) {
      case JsonValue::Kind::kString:
      case JsonValue::Kind::kNumber: return condition.AddValue(value.text, variables);
      case JsonValue::Kind::kBool:
        return condition.AddValue(value.boolean ? "true" : "false", variables);
      default: return ValidationError("Syntax errors in policy.");
    }
  };
  if (values.is_array()) {
    for (const JsonValue& value : values.elements) TRY(add(value));
  } else {
    TRY(add(values));
  }
  if (condition.operator_ == Operator::kStringEquals &&
      std::all_of(condition.operands_.begin(), condition.operands_.end(),
                  [](const Operand& o) { return std::get<Template>(o).is_literal(); })) {
    for (const Operand& operand : condition.operands_)
      condition.sorted_.emplace_back(std::get<Template>(operand).literal());
    std::sort(condition.sorted_.begin(), condition.sorted_.end());
    if (!condition.sorted_.empty()) condition.operands_.clear();  // not looked at any more
  }
  condition.operands_.shrink_to_fit();
  return condition;
}

size_t Condition::heap_bytes() const {
  size_t bytes = HeapBytes(key_.tag) + operands_.capacity() * sizeof(Operand) +
                 sorted_.capacity() * sizeof(std::string);
  for (const std::string& text : sorted_) bytes += HeapBytes(text);
  for (const Operand& operand : operands_) {
    if (const auto* text = std::get_if<Template>(&operand)) {
      bytes += text->heap_bytes();
    } else if (const auto* number = std::get_if<Decimal>(&operand)) {
      bytes += HeapBytes(number->digits);
    } else if (const auto* binary = std::get_if<std::string>(&operand)) {
      bytes += HeapBytes(*binary);
    } else if (const auto* arn = std::get_if<ArnTemplate>(&operand)) {
      bytes += arn->capacity() * sizeof(Template);
      for (const Template& part : *arn) bytes += part.heap_bytes();
    }
  }
  return bytes;
}

bool Condition::Holds(const RequestContext& context) const {
  const RequestContext::Value* value = context.Find(key_);
  if (operator_ == Operator::kNull) {
    const bool absent = value == nullptr;
    return std::any_of(operands_.begin(), operands_.end(),
                       [&](const Operand& o) { return std::get<bool>(o) == absent; });
  }
  if (value == nullptr) {
    if (if_exists_ || set_ == Set::kAll) return true;
    return set_ == Set::kNone && negated_;
  }
  if (set_ == Set::kNone) {
    // The service never matches a key of several values without a set prefix, negated or not: an
    // operator that took any of the values would let through what the policy's author did not see.
    return !value->is_list && HoldsFor(value->text, context);
  }
  const std::span<const std::string_view> list =
      value->is_list ? value->list : std::span<const std::string_view>(&value->text, 1);
  const auto holds = [&](std::string_view text) { return HoldsFor(text, context); };
  return set_ == Set::kAll ? std::all_of(list.begin(), list.end(), holds)
                           : std::any_of(list.begin(), list.end(), holds);
}

bool Condition::HoldsFor(std::string_view value, const RequestContext& context) const {
  if (!sorted_.empty()) {
    const bool found = std::binary_search(sorted_.begin(), sorted_.end(), value, std::less<>());
    return found != negated_;
  }
  bool yes = false;
  if (!PolicySteps::Spend(static_cast<int64_t>(operands_.size()))) return false;
  for (const Operand& operand : operands_) {
    switch (Test(operand, value, context)) {
      case Outcome::kYes: yes = true; break;
      case Outcome::kInvalid: return false;
      case Outcome::kNo: continue;
    }
    break;
  }
  return yes != negated_;
}

// Tests one value of the request. Returns kInvalid for a value that the operator cannot read: it
// matches neither the operator nor its negation.
Condition::Outcome Condition::Test(const Operand& operand, std::string_view value,
                                   const RequestContext& context) const {
  const auto outcome = [](bool yes) { return yes ? Outcome::kYes : Outcome::kNo; };
  bool unresolved = false;
  switch (operator_) {
    case Operator::kStringEquals:
    case Operator::kStringLike:
      return outcome(std::get<Template>(operand).Matches(value, context, &unresolved));
    case Operator::kStringEqualsIgnoreCase:
      return outcome(std::get<Template>(operand).MatchesIgnoringCase(value, context, &unresolved));
    case Operator::kNumericEquals:
    case Operator::kNumericLess:
    case Operator::kNumericLessOrEqual:
    case Operator::kNumericGreater:
    case Operator::kNumericGreaterOrEqual: {
      const std::optional<Decimal> number = ParseDecimal(value);
      if (!number) return Outcome::kInvalid;
      const int order = Compare(*number, std::get<Decimal>(operand));
      switch (operator_) {
        case Operator::kNumericLess: return outcome(order < 0);
        case Operator::kNumericLessOrEqual: return outcome(order <= 0);
        case Operator::kNumericGreater: return outcome(order > 0);
        case Operator::kNumericGreaterOrEqual: return outcome(order >= 0);
        default: return outcome(order == 0);
      }
    }
    case Operator::kDateEquals:
    case Operator::kDateLess:
    case Operator::kDateLessOrEqual:
    case Operator::kDateGreater:
    case Operator::kDateGreaterOrEqual: {
      const std::optional<int64_t> date = ParseDate(value);
      if (!date) return Outcome::kInvalid;
      const int64_t limit = std::get<int64_t>(operand);
      switch (operator_) {
        case Operator::kDateLess: return outcome(*date < limit);
        case Operator::kDateLessOrEqual: return outcome(*date <= limit);
        case Operator::kDateGreater: return outcome(*date > limit);
        case Operator::kDateGreaterOrEqual: return outcome(*date >= limit);
        default: return outcome(*date == limit);
      }
    }
    case Operator::kBool: {
      const std::optional<bool> truth = ParseBool(value);
      if (!truth) return Outcome::kInvalid;
      if (const bool* wanted = std::get_if<bool>(&operand)) return outcome(*truth == *wanted);
      std::string text;
      if (!std::get<Template>(operand).Resolve(context, &text)) return Outcome::kNo;
      return outcome(ParseBool(text) == truth);
    }
    case Operator::kBinaryEquals: {
      std::string bytes;
      if (!DecodeBase64(value, &bytes).ok()) return Outcome::kInvalid;
      return outcome(bytes == std::get<std::string>(operand));
    }
    case Operator::kIpAddress: {
      const std::optional<AddressRange> address = ParseAddressRange(value);
      if (!address) return Outcome::kInvalid;
      return outcome(std::get<AddressRange>(operand).Contains(*address));
    }
    case Operator::kArnLike: {
      ArnView arn;
      if (!SplitArn(value, &arn)) return Outcome::kInvalid;
      const ArnTemplate& parts = std::get<ArnTemplate>(operand);
      for (size_t i = 0; i < parts.size(); ++i) {
        if (!parts[i].Matches(arn.parts[i + 1], context, &unresolved)) return Outcome::kNo;
      }
      return Outcome::kYes;
    }
    case Operator::kNull: break;
  }
  return Outcome::kInvalid;
}

}  // namespace stator::access
