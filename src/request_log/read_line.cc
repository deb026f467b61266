#include "request_log/read_line.h"

#include <cmath>

#include "simdjson.h"

namespace stator::request_log {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// Limits that no real value exceeds; sums of values within them stay exact enough.
constexpr int64_t kMostMicros = 253'402'300'799'999'999;  // the year 9999
constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr double kMostUnits = 1e12;

Error Wrong(std::string_view member) {
  return ValidationError("member \"" + std::string(member) + "\" is not as it should be");
}

// The members of one JSON object. Keeps the first error.
class Members {
 public:
  explicit Members(object from) : from_(from) {}

  bool Has(std::string_view name) const { return !from_[name].error(); }
  void Text(std::string_view name, std::string* out, bool required = false) {
    element value;
    if (!Find(name, required, &value)) return;
    Text(name, value, out);
  }
  void Text(std::string_view name, element value, std::string* out) {
    std::string_view text;
    if (value.get(text)) return Fail(name);
    out->assign(text);
  }
  void Whole(std::string_view name, int64_t* out, int64_t most, bool required = false) {
    element value;
    if (!Find(name, required, &value)) return;
    if (value.get(*out) || *out < 0 || *out > most) Fail(name);
  }
  void Whole(std::string_view name, std::optional<int64_t>* out, int64_t most) {
    if (!Has(name)) return;
    Whole(name, &out->emplace(), most);
  }
  void Units(std::string_view name, double* out) {
    element value;
    if (Find(name, false, &value)) Units(name, value, out);
  }
  void Units(std::string_view name, element value, double* out) {
    // A half unit is the smallest real value; finer fractions would only come from a hostile file.
    if (value.get(*out) || !(*out >= 0 && *out <= kMostUnits)) return Fail(name);
    *out = std::round(*out * 2) / 2;
  }
  void Units(std::string_view name, std::optional<double>* out) {
    if (Has(name)) Units(name, &out->emplace());
  }
  void Flag(std::string_view name, bool* out) {
    element value;
    if (Find(name, false, &value) && value.get(*out)) Fail(name);
  }
  // Reads a member whose text is one of `names`, and stores the name's index in *out.
  template <typename E, size_t N>
  void Choice(std::string_view name, const std::string_view (&names)[N], E* out) {
    std::string text;
    if (!Has(name)) return;
    Text(name, &text);
    for (size_t i = 0; i < N; ++i) {
      if (names[i] == text) {
        *out = static_cast<E>(i);
        return;
      }
    }
    Fail(name);
  }
  void Texts(std::string_view name, std::vector<std::string>* out) {
    Each(name, [&](element value) { Text(name, value, &out->emplace_back()); });
  }
  template <typename F>
  void Each(std::string_view name, F each) {
    element value;
    if (!Find(name, false, &value)) return;
    simdjson::dom::array list;
    if (value.get(list)) return Fail(name);
    for (element one : list) each(one);
  }
  void Fail(std::string_view name) {
    if (status_.ok()) status_ = Wrong(name);
  }
  Status status() const { return status_; }

 private:
  bool Find(std::string_view name, bool required, element* out) {
    if (from_[name].get(*out) == simdjson::SUCCESS) return true;
    if (required) Fail(name);
    return false;
  }

  object from_;
  Status status_;
};

Result<Record> ReadHeader(Members members) {
  int64_t version = 0;
  members.Whole("stator_request_log", &version, INT64_MAX, true);
  if (members.status().ok() && version != kVersion) {
    return ValidationError("version " + std::to_string(version) +
                           " of the format; this program reads version " +
                           std::to_string(kVersion));
  }
  Header header;
  members.Whole("at", &header.at_micros, kMostMicros, true);
  members.Choice("keys", {"plain", "hashed"}, &header.keys);
  members.Text("salt", &header.salt);
  TRY(members.status());
  return Record(std::move(header));
}

Result<IndexDefinition> ReadIndex(object from) {
  Members members(from);
  IndexDefinition index;
  members.Text("name", &index.name, true);
  bool local = false;
  members.Choice("kind", {"global", "local"}, &local);
  index.global = !local;
  members.Texts("pk", &index.partition);
  members.Texts("sk", &index.sort);
  members.Choice("projection", {"ALL", "KEYS_ONLY", "INCLUDE"}, &index.projection);
  members.Texts("attributes", &index.attributes);
  members.Units("read", &index.read_units);
  members.Units("write", &index.write_units);
  members.Whole("bytes", &index.bytes, kMostBytes);
  members.Whole("items", &index.items, kMostBytes);
  TRY(members.status());
  return index;
}

Result<Record> ReadTable(Members members) {
  TableDefinition table;
  members.Text("table", &table.name, true);
  members.Whole("at", &table.at_micros, kMostMicros, true);
  members.Texts("pk", &table.partition);
  members.Texts("sk", &table.sort);
  members.Choice("billing", {"provisioned", "on-demand"}, &table.on_demand);
  members.Units("read", &table.read_units);
  members.Units("write", &table.write_units);
  members.Units("max_read", &table.max_read);
  members.Units("max_write", &table.max_write);
  members.Flag("stream", &table.stream);
  members.Whole("bytes", &table.bytes, kMostBytes);
  members.Whole("items", &table.items, kMostBytes);
  Status indexes = OkStatus();
  members.Each("indexes", [&](element value) {
    object from;
    if (value.get(from)) return members.Fail("indexes");
    Result<IndexDefinition> index = ReadIndex(from);
    if (index.ok()) {
      table.indexes.push_back(*std::move(index));
    } else {
      indexes = index.error();
    }
  });
  TRY(members.status());
  TRY(indexes);
  return Record(std::move(table));
}

KeyUse ReadKeyUse(Members* members, element value) {
  KeyUse touch;
  simdjson::dom::array parts;
  size_t at = 0;
  if (value.get(parts)) {
    members->Fail("m");
    return touch;
  }
  for (element part : parts) {
    if (at == 0) members->Text("m", part, &touch.partition);
    if (at == 1) members->Text("m", part, &touch.sort);
    if (at == 2 &&
        (part.get(touch.bytes.emplace()) || *touch.bytes < 0 || *touch.bytes > kMostBytes)) {
      members->Fail("m");
    }
    ++at;
  }
  if (at < 1) members->Fail("m");
  return touch;
}

IndexWrite ReadIndexWrite(Members* members, element value) {
  IndexWrite write;
  simdjson::dom::array parts;
  size_t at = 0;
  if (value.get(parts)) {
    members->Fail("iw");
    return write;
  }
  for (element part : parts) {
    if (at == 0) members->Text("iw", part, &write.index);
    if (at == 1) members->Units("iw", part, &write.units);
    if (at == 2) members->Text("iw", part, &write.partition);
    ++at;
  }
  if (at < 2) members->Fail("iw");
  return write;
}

Result<Record> ReadRequest(Members members) {
  Request request;
  members.Whole("t", &request.at_micros, kMostMicros, true);
  members.Text("op", &request.operation, true);
  members.Text("tb", &request.table, true);
  members.Text("ix", &request.index);
  if (members.Has("pk")) {
    KeyUse& touch = request.keys.emplace_back();
    members.Text("pk", &touch.partition);
    members.Text("sk", &touch.sort);
  }
  members.Each("m", [&](element value) { request.keys.push_back(ReadKeyUse(&members, value)); });
  members.Whole("b", &request.stored_bytes, kMostBytes);
  members.Whole("a", &request.asked_bytes, kMostBytes);
  members.Units("r", &request.read_units);
  members.Units("w", &request.write_units);
  members.Each("iw", [&](element value) {
    request.index_writes.push_back(ReadIndexWrite(&members, value));
  });
  int64_t consistency = 0;
  members.Whole("c", &consistency, 2);
  request.consistency = static_cast<Consistency>(consistency);
  members.Whole("s", &request.scanned, kMostBytes);
  members.Whole("n", &request.returned, kMostBytes);
  members.Texts("at", &request.attributes);
  members.Texts("f", &request.filter);
  members.Choice("tt", {"", "millis", "text"}, &request.ttl_form);
  members.Choice("x", {"", "throttled", "condition", "cancelled"}, &request.outcome);
  TRY(members.status());
  if (request.keys.size() == 1 && !request.keys[0].bytes) {
    request.keys[0].bytes = request.stored_bytes;
  }
  return Record(std::move(request));
}

}  // namespace

struct LineReader::Parser {
  simdjson::dom::parser json{kMaxLineBytes};
};

LineReader::LineReader() : parser_(std::make_unique<Parser>()) {}
LineReader::~LineReader() = default;

Result<Record> LineReader::Read(std::string_view line) {
  if (line.size() > kMaxLineBytes) return ValidationError("longer than any line of a recording");
  element root;
  object from;
  const simdjson::error_code code = parser_->json.parse(line.data(), line.size()).get(root);
  if (code != simdjson::SUCCESS || root.get(from)) return ValidationError("not a JSON object");
  const Members members(from);
  if (members.Has("t")) return ReadRequest(members);
  if (members.Has("table")) return ReadTable(members);
  if (members.Has("stator_request_log")) return ReadHeader(members);
  Members rest = members;
  if (rest.Has("lost")) {
    Lost lost;
    rest.Whole("lost", &lost.count, kMostBytes);
    rest.Whole("at", &lost.at_micros, kMostMicros, true);
    TRY(rest.status());
    return Record(lost);
  }
  if (rest.Has("end")) {
    End end;
    rest.Text("end", &end.reason);
    rest.Whole("at", &end.at_micros, kMostMicros, true);
    TRY(rest.status());
    return Record(std::move(end));
  }
  return ValidationError("no record of a request log");
}

}  // namespace stator::request_log
