// The parameters of a call of the Query protocol: a form.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/identity.h"
#include "base/result.h"

namespace stator::iam {

class Form {
 public:
  static constexpr size_t kMaxBytes = 1 << 20;
  static constexpr size_t kMaxParameters = 4000;

  // Parses "a=b&c=d". kValidation for a body beyond the bounds, and for a name that occurs twice.
  static Result<Form> Parse(std::string_view text);

  // Returns the value of a parameter; nullopt if it is absent.
  std::optional<std::string_view> Find(std::string_view name) const;
  std::string_view Get(std::string_view name) const { return Find(name).value_or(""); }
  // Returns the values of "NAME.member.1", "NAME.member.2", ... Ends at the first that is missing.
  std::vector<std::string_view> List(std::string_view name) const;
  // Returns how many of "NAME.member.1.FIELD", "NAME.member.2.FIELD", ... are there.
  size_t CountMembers(std::string_view name, std::string_view field) const;
  // Returns "NAME.member.N.FIELD", N from 1.
  std::string_view Member(std::string_view name, size_t n, std::string_view field) const;
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }
  // Returns the tags of "Tags.member.N.Key" and "Value".
  std::vector<access::Tag> Tags() const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace stator::iam
