#include "mcp/arguments.h"

#include <fmt/format.h>

namespace stator::mcp {
namespace {

bool HasType(Json value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_int64();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_bool();
  if (type == "object") return value.is_object();
  return type == "array" && value.is_array();
}

// The sentence that says why the value does not fit; empty: it does.
std::string WhyNot(std::string_view name, Json value, Json property) {
  const std::string_view type = TextMember(property, "type").value_or("");
  if (!HasType(value, type)) {
    return fmt::format("{} must be {} {}, not {}", name,
                       type == "integer" || type == "object" || type == "array" ? "an" : "a", type,
                       Beginning(TextOf(value), 200));
  }
  const std::optional<double> least = NumberMember(property, "minimum"),
                              most = NumberMember(property, "maximum");
  double number = 0;
  if (value.get(number) != simdjson::SUCCESS) return "";
  if ((least && number < *least) || (most && number > *most))
    return fmt::format("{} must be from {} to {}", name, least.value_or(0), most.value_or(0));
  return "";
}

}  // namespace

Result<Arguments> Arguments::Check(std::optional<Json> given, std::string_view schema) {
  ASSIGN_OR_RETURN(const Document rules, Document::Parse(schema));
  const std::optional<Json> properties = Member(rules.root(), "properties");
  Arguments arguments;
  arguments.given_ = given;
  simdjson::dom::object object;
  if (given && given->get(object) == simdjson::SUCCESS) {
    for (const auto [name, value] : object) {
      const std::optional<Json> property =
          properties ? Member(*properties, name) : std::optional<Json>();
      if (!property) {
        return ValidationError(
            fmt::format("There is no argument {}", Beginning(Quoted(name), 200)));
      }
      if (std::string wrong = WhyNot(name, value, *property); !wrong.empty())
        return ValidationError(std::move(wrong));
    }
  }
  simdjson::dom::array required;
  if (const std::optional<Json> list = Member(rules.root(), "required");
      list && list->get(required) == simdjson::SUCCESS) {
    for (const Json each : required) {
      std::string_view name;
      if (each.get(name) == simdjson::SUCCESS && !arguments.has(name))
        return ValidationError(fmt::format("The argument {} is missing", name));
    }
  }
  return arguments;
}

std::optional<Json> Arguments::Find(std::string_view name) const {
  return given_ ? Member(*given_, name) : std::nullopt;
}

std::string Arguments::Text(std::string_view name) const {
  return given_ ? std::string(TextMember(*given_, name).value_or("")) : std::string();
}

int64_t Arguments::Whole(std::string_view name, int64_t otherwise) const {
  const std::optional<Json> value = Find(name);
  int64_t number = 0;
  return value && value->get(number) == simdjson::SUCCESS ? number : otherwise;
}

bool Arguments::Bool(std::string_view name) const {
  const std::optional<Json> value = Find(name);
  bool truth = false;
  return value && value->get(truth) == simdjson::SUCCESS && truth;
}

std::string Arguments::Raw(std::string_view name) const {
  const std::optional<Json> value = Find(name);
  return value ? TextOf(*value) : std::string();
}

}  // namespace stator::mcp
