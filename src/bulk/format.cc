#include "bulk/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/attribute_json.h"
#include "bulk/plain_json.h"

namespace stator::bulk {
namespace {

constexpr std::array<std::pair<Format, std::string_view>, 4> kNames = {{
    {Format::kDynamoDbJson, "dynamodb-json"},
    {Format::kJsonLines, "json-lines"},
    {Format::kCsv, "csv"},
    {Format::kIon, "ion"},
}};

// An empty text stands in quotes: without them the attribute is not there.
void AppendField(std::string_view text, std::string* out) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out->append(text);
    return;
  }
  out->push_back('"');
  for (const char c : text) {
    if (c == '"') out->push_back('"');
    out->push_back(c);
  }
  out->push_back('"');
}

Status AppendRecord(const std::vector<std::string>& columns, const model::KeySchema& key,
                    model::ItemView item, std::string* out) {
  size_t found = 0;
  std::string line;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line.push_back(',');
    const model::ValueView value = item.Find(columns[i]);
    if (value.empty()) continue;
    ++found;
    switch (value.type()) {
      case model::Type::kS:
      case model::Type::kN: AppendField(value.text(), &line); break;
      case model::Type::kB: {
        std::string text;
        api::AppendBase64(&text, value.text());
        AppendField(text, &line);
        break;
      }
      default:
        return ValidationError(
            fmt::format("the item {} does not fit into CSV: {} has the type {}. Use json-lines",
                        KeyText(key, item), columns[i], model::TypeName(value.type())));
    }
  }
  if (found < item.attributes().size()) {
    for (const model::MapView::Entry& entry : item.attributes()) {
      if (std::find(columns.begin(), columns.end(), entry.name) != columns.end()) continue;
      return ValidationError(
          fmt::format("the item {} does not fit: the attribute {} is not among the columns",
                      KeyText(key, item), entry.name));
    }
  }
  out->append(line).push_back('\n');
  return OkStatus();
}

}  // namespace

std::string_view NameOf(Format format) {
  for (const auto& [each, name] : kNames)
    if (each == format) return name;
  return "";
}

std::optional<Format> FormatNamed(std::string_view name) {
  for (const auto& [format, each] : kNames)
    if (each == name) return format;
  return std::nullopt;
}

std::string KeyText(const model::KeySchema& key, model::ItemView item) {
  std::string text;
  api::AppendItemJson(&text, model::ItemView(model::KeyAttributesOf(key, item)));
  return text;
}

Status AppendLine(Format format, const std::vector<std::string>& columns,
                  const model::KeySchema& key, model::ItemView item, std::string* out) {
  if (format == Format::kCsv) return AppendRecord(columns, key, item, out);
  if (format == Format::kDynamoDbJson) {
    out->append("{\"Item\":");
    api::AppendItemJson(out, item);
    out->append("}\n");
  } else {
    AppendPlainItem(out, item);
    out->push_back('\n');
  }
  return OkStatus();
}

void AppendHeader(const std::vector<std::string>& columns, std::string* out) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out->push_back(',');
    AppendField(columns[i], out);
  }
  out->push_back('\n');
}

}  // namespace stator::bulk
