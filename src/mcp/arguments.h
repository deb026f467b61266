// The arguments of a tool's call, checked against the tool's schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "mcp/json.h"

namespace stator::mcp {

// Not for long: a view of the message.
class Arguments {
 public:
  // Checks the arguments of a tool call. `given` is the member `arguments`, if there is one.
  // kValidation, with a sentence for the model, for an unknown name, a missing required one, and a
  // value of another type or outside its bounds. Understands the words of JSON Schema that the
  // tools use: properties, required, type, minimum, maximum.
  static Result<Arguments> Check(std::optional<Json> given, std::string_view schema);

  bool has(std::string_view name) const { return Find(name).has_value(); }
  // Each getter returns its default (empty, `otherwise`, false) if the argument is not given.
  std::string Text(std::string_view name) const;
  int64_t Whole(std::string_view name, int64_t otherwise) const;
  bool Bool(std::string_view name) const;
  // The value as JSON text; empty if it is not given.
  std::string Raw(std::string_view name) const;
  std::optional<Json> Find(std::string_view name) const;

 private:
  std::optional<Json> given_;
};

}  // namespace stator::mcp
