#include "store_backup/manifest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json_writer.h"
#include "base/time_text.h"
#include "simdjson.h"

namespace stator::store_backup {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

constexpr std::string_view kFormat = "stator-store-backup";
constexpr int64_t kVersion = 1;
constexpr size_t kHashDigits = 32;
constexpr size_t kNumberDigits = 8;
constexpr std::string_view kFolder = "backups/", kSuffix = ".json", kObjects = "objects/";

bool IsHash(std::string_view text) {
  return text.size() == kHashDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// A name that stays within its directory.
bool IsFileName(std::string_view text) {
  return !text.empty() && text.size() <= 255 && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '.' || c == '-' || c == '_';
         });
}

// The members of a JSON object; remembers whether one was not as it should be.
class Members {
 public:
  explicit Members(element from) : from_(from) {}
  std::string Text(std::string_view name) {
    std::string_view text;
    good_ &= from_[name].get(text) == simdjson::SUCCESS;
    return std::string(text);
  }
  int64_t Whole(std::string_view name) {
    int64_t number = -1;
    good_ &= from_[name].get(number) == simdjson::SUCCESS && number >= 0;
    return number;
  }
  int64_t Time(std::string_view name) { return Whole(name); }
  bool good() const { return good_; }

 private:
  element from_;
  bool good_ = true;
};

}  // namespace

uint64_t Backup::bytes() const {
  uint64_t sum = 0;
  for (const File& file : files) sum += file.bytes;
  return sum;
}

std::string IdOf(uint64_t number, int64_t as_of_micros) {
  std::string time = FormatTime(as_of_micros).substr(0, 19);  // 2026-11-21T12:30:05
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  return fmt::format("{:08}-{}Z", number, time);
}

uint64_t NumberIn(std::string_view id) {
  uint64_t number = 0;
  if (id.size() <= kNumberDigits || id[kNumberDigits] != '-') return 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + kNumberDigits, number);
  return error == std::errc() && end == id.data() + kNumberDigits ? number : 0;
}

std::string ManifestName(std::string_view id) {
  return fmt::format("{}{}{}", kFolder, id, kSuffix);
}

std::string_view IdInName(std::string_view name) {
  if (!name.starts_with(kFolder) || !name.ends_with(kSuffix) ||
      name.size() < kFolder.size() + kSuffix.size())
    return {};
  name.remove_prefix(kFolder.size());
  name.remove_suffix(kSuffix.size());
  return NumberIn(name) == 0 ? std::string_view() : name;
}

std::string ObjectName(const File& file) {
  return fmt::format("{}{}-{}", kObjects, file.hash, file.bytes);
}

bool IsNameHere(std::string_view name) {
  if (!IdInName(name).empty()) return true;
  if (!name.starts_with(kObjects)) return false;
  name.remove_prefix(kObjects.size());
  if (!IsHash(name.substr(0, kHashDigits))) return false;
  name.remove_prefix(kHashDigits);
  if (!name.starts_with('-')) return false;
  name.remove_prefix(1);
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), bytes);
  return error == std::errc() && end == name.data() + name.size();
}

std::string HashOf(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string FormatManifest(const Backup& backup) {
  JsonWriter json;
  json.Open('{').Field("Format", kFormat).Key("Version").Whole(kVersion);
  json.Field("BackupId", backup.id);
  json.Field("AsOf", FormatTime(backup.as_of_micros));
  json.Key("AsOfMicros").Whole(backup.as_of_micros);
  json.Key("UntilMicros").Whole(backup.until_micros);
  json.Field("StatorVersion", backup.version).Field("EncryptionKeyId", backup.key_id);
  json.Key("NewBytes").Whole(static_cast<int64_t>(backup.new_bytes));
  json.Key("NewFiles").Whole(static_cast<int64_t>(backup.new_files));
  json.Key("Files").Open('[');
  for (const File& file : backup.files) {
    json.Open('{').Field("Name", file.name).Key("Bytes").Whole(static_cast<int64_t>(file.bytes));
    json.Field("Checksum", file.hash).Field("Mark", file.mark).Close('}');
  }
  std::string text = json.Close(']').Close('}').Take();
  text += HashOf(std::string_view(text).substr(0, text.size() - 1));
  text += '\n';
  return text;
}

Result<Backup> ParseManifest(std::string_view text, std::string_view name) {
  const auto damaged = [name](std::string_view why) {
    return CorruptionError(fmt::format("{} is damaged: {}.", name, why));
  };
  const size_t cut = text.find('\n');
  if (cut == std::string_view::npos || text.size() != cut + 2 + kHashDigits ||
      text.back() != '\n' || text.substr(cut + 1, kHashDigits) != HashOf(text.substr(0, cut)))
    return damaged("its checksum is another");
  simdjson::dom::parser parser;
  element json;
  if (parser.parse(text.data(), cut).get(json) != simdjson::SUCCESS)
    return damaged("it is no JSON");
  Members members(json);
  if (members.Text("Format") != kFormat) return damaged("it is no manifest of a store's backup");
  if (members.Whole("Version") > kVersion) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("{} was written by a newer version of Stator: take that one.", name));
  }
  Backup backup;
  backup.id = members.Text("BackupId");
  backup.number = NumberIn(backup.id);
  backup.as_of_micros = members.Time("AsOfMicros");
  backup.until_micros = members.Time("UntilMicros");
  backup.version = members.Text("StatorVersion");
  backup.key_id = members.Text("EncryptionKeyId");
  backup.new_bytes = static_cast<uint64_t>(members.Whole("NewBytes"));
  backup.new_files = static_cast<uint64_t>(members.Whole("NewFiles"));
  array files;
  if (json["Files"].get(files) != simdjson::SUCCESS || files.size() > kMostFiles)
    return damaged("it has no list of files");
  bool has_format = false;
  for (const element each : files) {
    Members of(each);
    File file;
    file.name = of.Text("Name");
    file.bytes = static_cast<uint64_t>(of.Whole("Bytes"));
    file.hash = of.Text("Checksum");
    file.mark = of.Text("Mark");
    if (!of.good() || !IsFileName(file.name) || !IsHash(file.hash) || !IsHash(file.mark) ||
        (!backup.files.empty() && backup.files.back().name >= file.name))
      return damaged("a file in it is none");
    has_format |= file.name == "FORMAT";
    backup.files.push_back(std::move(file));
  }
  if (!members.good() || backup.number == 0 || ManifestName(backup.id) != name || !has_format)
    return damaged("a member is missing or wrong");
  return backup;
}

}  // namespace stator::store_backup
