// Files of an import and the items in them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "api/attribute_json.h"
#include "bulk/import_file.h"
#include "bulk/plain_json.h"
#include "exchange/byte_source.h"
#include "simdjson.h"
#include "table/descriptor.h"

namespace stator::bulk {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kPackings = {".gz", ".zst"};
constexpr std::array<std::pair<std::string_view, std::optional<Format>>, 6> kExtensions = {{
    {".json", std::nullopt},  // each object shows which
    {".jsonl", Format::kJsonLines},
    {".ndjson", std::nullopt},
    {".ddb", Format::kDynamoDbJson},
    {".csv", Format::kCsv},
    {".ion", Format::kIon},
}};

std::string_view WithoutPacking(std::string_view name) {
  for (const std::string_view packing : kPackings) {
    if (name.size() > packing.size() && name.substr(name.size() - packing.size()) == packing)
      return name.substr(0, name.size() - packing.size());
  }
  return name;
}

// Whether a file is named like one with items. `*format` is set if the name says it.
bool IsNamedLikeData(std::string_view path, std::optional<Format>* format) {
  const std::string_view name = WithoutPacking(path);
  for (const auto& [extension, meant] : kExtensions) {
    if (name.size() <= extension.size() || name.substr(name.size() - extension.size()) != extension)
      continue;
    *format = meant;
    return true;
  }
  return false;
}

// The names of the data files that the manifest of an export lists; none without a manifest.
Result<std::set<std::string>> NamesOfManifest(const fs::path& folder) {
  std::set<std::string> names;
  const std::string path = (folder / "manifest-files.json").string();
  ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadSmallFile(path));
  if (!text) return names;
  simdjson::dom::parser parser;
  size_t begin = 0;
  while (begin < text->size()) {
    const size_t end = std::min(text->find('\n', begin), text->size());
    const std::string line = text->substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \r\t") == std::string::npos) continue;
    std::string_view key;
    if (parser.parse(line)["dataFileS3Key"].get(key) != simdjson::SUCCESS)
      return ValidationError(path + ": is no manifest of an export");
    names.emplace(key.substr(key.rfind('/') + 1));
  }
  return names;
}

exchange::Compression CompressionOf(std::string_view beginning) {
  if (beginning.substr(0, 2) == "\x1f\x8b") return exchange::Compression::kGzip;
  if (beginning.substr(0, 4) == "\x28\xb5\x2f\xfd") return exchange::Compression::kZstd;
  return exchange::Compression::kNone;
}

// Returns true if the document is a wrapped item, {"Item":{...}}. A plain item never looks like
// this, because its key attribute is not a map.
bool IsWrapped(simdjson::dom::element document) {
  simdjson::dom::object object;
  simdjson::dom::element item;
  return document.get(object) == simdjson::SUCCESS && object.size() == 1 &&
         object["Item"].get(item) == simdjson::SUCCESS && item.is_object();
}

// Reads JSON objects in either form. Not thread-safe.
class JsonReader {
 public:
  explicit JsonReader(std::optional<Format> format) : format_(format) {
    codec_.read_json = api::ReadItem;
  }
  Result<std::string> operator()(std::string_view text) {
    if (format_ == Format::kJsonLines) return ReadPlainItem(text);
    simdjson::dom::element document;
    const simdjson::error_code parsed = parser_.parse(text.data(), text.size()).get(document);
    const bool wrapped = parsed == simdjson::SUCCESS && IsWrapped(document);
    // A plain number may have more digits than this parser takes.
    if (!wrapped && !format_) return ReadPlainItem(text);
    if (parsed != simdjson::SUCCESS) return CorruptionError("The text is no JSON object.");
    return exchange::ReadJsonItem(document, codec_);
  }

 private:
  const std::optional<Format> format_;
  simdjson::dom::parser parser_;
  exchange::Codec codec_;
};

}  // namespace

Result<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) return ValidationError(path + ": there is no such file or directory");
  if (!fs::is_directory(status)) return std::vector<std::string>{path};
  fs::path folder = path;
  ASSIGN_OR_RETURN(std::set<std::string> wanted, NamesOfManifest(folder));
  if (fs::is_directory(folder / "data", failed)) folder /= "data";
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    std::optional<Format> ignored;
    if (!entry.is_regular_file(failed) || !IsNamedLikeData(name, &ignored)) continue;
    if (name.starts_with("manifest-")) continue;
    wanted.erase(name);
    files.push_back(entry.path().string());
  }
  if (!wanted.empty()) {
    return ValidationError(fmt::format("{}: the manifest lists {}, which is not there",
                                       folder.string(), *wanted.begin()));
  }
  if (files.empty()) {
    return ValidationError(
        folder.string() +
        ": has no files named .json, .jsonl, .ndjson, .csv or .ion, with or without .gz or .zst");
  }
  std::sort(files.begin(), files.end());
  return files;
}

Status ReadFileItems(std::unique_ptr<InputFile> file, const std::string& path,
                     const InputOptions& options, const model::KeySchema& key,
                     exchange::VisitItem visit, int64_t* plain_bytes,
                     std::function<bool()> stopped) {
  std::optional<Format> format = options.format;
  if (!format && !IsNamedLikeData(path, &format)) {
    return ValidationError(path + ": say what it is with --format");
  }
  std::string beginning;
  TRY(file->Read(0, 4, &beginning));
  exchange::ByteSource source(std::move(file), CompressionOf(beginning), std::move(stopped));
  Status read = OkStatus();
  if (format == Format::kCsv) {
    exchange::CsvOptions csv;
    csv.delimiter = std::string(1, options.delimiter);
    csv.headers = options.columns;
    table::TableDescriptor table;
    table.key_schema = key;
    table.attribute_definitions = options.types;
    table.attribute_definitions.push_back(key.partition);
    if (key.sort) table.attribute_definitions.push_back(*key.sort);
    read = exchange::ReadCsvItems(source, csv, exchange::EmptyField::kAbsent, table, visit);
  } else if (format == Format::kIon) {
    const auto ion = [](std::string_view text) { return exchange::ReadIonDocument(text); };
    read = exchange::ReadDocuments(source, exchange::Documents::Kind::kIon, ion, visit);
  } else {
    JsonReader reader(format);
    read = exchange::ReadDocuments(source, exchange::Documents::Kind::kJson, reader, visit);
  }
  *plain_bytes += source.bytes();
  return read;
}

}  // namespace stator::bulk
