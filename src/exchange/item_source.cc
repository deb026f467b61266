#include "exchange/item_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "exchange/csv.h"
#include "exchange/ion.h"

namespace stator::exchange {
namespace {

// Whether the object itself could not be read, so that the import cannot go on.
bool EndsImport(const Error& error) { return error.code() == ErrorCode::kUnavailable; }

// The attributes of a CSV file: their names, and the types of those that are keys.
class Columns {
 public:
  static Result<Columns> Of(const std::vector<std::string>& names,
                            const table::TableDescriptor& table) {
    Columns columns;
    for (size_t i = 0; i < names.size(); ++i) {
      Column column{names[i], i, model::Type::kS};
      for (const model::KeyAttribute& attribute : table.attribute_definitions)
        if (attribute.name == names[i]) column.type = attribute.type;
      columns.columns_.push_back(std::move(column));
    }
    std::ranges::sort(columns.columns_, {}, &Column::name);
    for (size_t i = 0; i < columns.columns_.size(); ++i) {
      const std::string& name = columns.columns_[i].name;
      if (name.empty()) return ValidationError("The header has an empty name.");
      if (i > 0 && columns.columns_[i - 1].name == name)
        return ValidationError(fmt::format("The header has the name {} twice.", name));
    }
    const auto has = [&](const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    };
    const model::KeySchema& key = table.key_schema;
    if (!has(key.partition.name) || (key.sort && !has(key.sort->name)))
      return ValidationError("The header lacks an attribute of the key.");
    return columns;
  }

  Result<std::string> ItemOf(const std::vector<std::string>& fields,
                             const std::vector<bool>& quoted, EmptyField empty) const {
    if (fields.size() != columns_.size()) {
      return ValidationError(fmt::format("The record has {} fields and the header {}.",
                                         fields.size(), columns_.size()));
    }
    std::string entries;
    size_t count = 0;
    for (const Column& column : columns_) {
      const std::string& field = fields[column.position];
      if (empty == EmptyField::kAbsent && field.empty() && !quoted[column.position]) continue;
      ++count;
      model::AppendName(&entries, column.name);
      switch (column.type) {
        case model::Type::kN: {
          ASSIGN_OR_RETURN(const model::Number number, model::Number::Parse(field));
          model::AppendNumber(&entries, number);
          break;
        }
        case model::Type::kB: {
          std::string bytes;
          TRY(DecodeBase64(field, &bytes));
          model::AppendBinary(&entries, bytes);
          break;
        }
        default:
          if (!simdjson::validate_utf8(field)) return ValidationError("The record is not UTF-8.");
          model::AppendString(&entries, field);
      }
    }
    std::string item;
    model::AppendItem(&item, count, entries);
    return item;
  }

 private:
  struct Column {
    std::string name;
    size_t position = 0;
    model::Type type = model::Type::kS;
  };
  std::vector<Column> columns_;  // by name
};

}  // namespace

Result<std::string> ReadJsonItem(simdjson::dom::element document, const Codec& codec) {
  simdjson::dom::element json;
  if (document["Item"].get(json) != simdjson::SUCCESS || !json.is_object())
    return ValidationError("The JSON object has no member Item that is an object.");
  std::string item;
  std::optional<Error> wrong;
  TRY(codec.read_json(json, &item, &wrong));
  if (wrong) return *std::move(wrong);
  return item;
}

Result<std::string> ReadIonDocument(std::string_view text) {
  Result<std::string> item = ReadIonItem(text);
  // A text that is no Ion: its end is not sure either.
  if (!item.ok() && item.error().code() == ErrorCode::kSerialization)
    return CorruptionError(item.error().message());
  return item;
}

Status ReadDocuments(ByteSource& source, Documents::Kind kind, ReadDocument read, VisitItem visit) {
  Documents documents(source, kind, kMostTextBytes);
  for (;;) {
    const Result<std::optional<std::string_view>> text = documents.Next();
    if (!text.ok() && EndsImport(text.error())) return text.error();
    if (!text.ok()) return visit(text.error());
    if (!*text) return OkStatus();
    Result<std::string> item = read(**text);
    const bool last = !item.ok() && item.error().code() == ErrorCode::kCorruption;
    TRY(visit(std::move(item)));
    if (last) return OkStatus();
  }
}

Status ReadCsvItems(ByteSource& source, const CsvOptions& options, EmptyField empty,
                    const table::TableDescriptor& table, VisitItem visit) {
  const std::string delimiter = options.delimiter.value_or(",");
  CsvRecords records(source, delimiter.front(), kMostTextBytes);
  std::optional<Columns> columns;
  if (options.headers) {
    Result<Columns> named = Columns::Of(*options.headers, table);
    if (!named.ok()) return visit(named.error());
    columns = *std::move(named);
  }
  for (;;) {
    const Result<std::optional<std::vector<std::string>>> record = records.Next();
    if (!record.ok() && EndsImport(record.error())) return record.error();
    if (!record.ok()) return visit(record.error());
    if (!*record) return OkStatus();
    if (columns) {
      TRY(visit(columns->ItemOf(**record, records.quoted(), empty)));
      continue;
    }
    Result<Columns> named = Columns::Of(**record, table);
    if (!named.ok()) return visit(named.error());
    columns = *std::move(named);
  }
}

Status ReadItems(std::unique_ptr<transfer::ObjectReader> object, const ImportJob& job,
                 const Codec& codec, const table::TableDescriptor& table, VisitItem visit,
                 int64_t* bytes, std::function<bool()> stopped) {
  ByteSource source(std::move(object), job.compression, std::move(stopped));
  simdjson::dom::parser parser;
  const auto json = [&](std::string_view text) -> Result<std::string> {
    simdjson::dom::element document;
    if (parser.parse(text.data(), text.size()).get(document) != simdjson::SUCCESS)
      return CorruptionError("The text is no JSON object.");
    return ReadJsonItem(document, codec);
  };
  const auto ion = [](std::string_view text) { return ReadIonDocument(text); };
  const Status read =
      job.format == Format::kCsv
          ? ReadCsvItems(source, job.csv.value_or(CsvOptions()), EmptyField::kText, table, visit)
      : job.format == Format::kIon ? ReadDocuments(source, Documents::Kind::kIon, ion, visit)
                                   : ReadDocuments(source, Documents::Kind::kJson, json, visit);
  *bytes += source.bytes();
  return read;
}

}  // namespace stator::exchange
