#include "exchange/job.h"

#include <utility>

#include "base/base64.h"
#include "base/json_writer.h"
#include "simdjson.h"

namespace stator::exchange {
namespace {

// One list of members for both directions, so that none is forgotten in one of them.
class Writing {
 public:
  Writing() { out_.Open('{'); }
  void Text(const char* name, const std::string& value) {
    if (!value.empty()) out_.Field(name, value);
  }
  void Text(const char* name, const std::optional<std::string>& value) {
    if (value) out_.Field(name, *value);
  }
  void Bytes(const char* name, const std::string& value) {
    std::string text(Base64Length(value.size()), '\0');
    EncodeBase64(value, text.data());
    out_.Field(name, text);
  }
  void Texts(const char* name, const std::optional<std::vector<std::string>>& values) {
    if (!values) return;
    out_.Key(name).Open('[');
    for (const std::string& value : *values) out_.Text(value);
    out_.Close(']');
  }
  void Whole(const char* name, const int64_t& value) { out_.Key(name).Whole(value); }
  void Flag(const char* name, const bool& value) { out_.Key(name).Bool(value); }
  template <typename E>
  void Enum(const char* name, const E& value, int) {
    out_.Key(name).Whole(static_cast<int64_t>(value));
  }
  template <typename T, typename Members>
  void Maybe(const char* name, const std::optional<T>& value, Members members) {
    if (!value) return;
    out_.Key(name).Open('{');
    members(*value);
    out_.Close('}');
  }
  template <typename Members>
  void Object(const char* name, Members members) {
    out_.Key(name).Open('{');
    members();
    out_.Close('}');
  }
  template <typename T, typename Members>
  void Each(const char* name, const std::vector<T>& values, Members members) {
    out_.Key(name).Open('[');
    for (const T& value : values) {
      out_.Open('{');
      members(value);
      out_.Close('}');
    }
    out_.Close(']');
  }
  std::string Take() {
    out_.Close('}');
    return out_.Take();
  }

 private:
  JsonWriter out_;
};

class Reading {
 public:
  explicit Reading(simdjson::dom::object object) : object_(object) {}
  bool ok() const { return ok_; }

  void Text(const char* name, std::string& value) {
    std::string_view text;
    if (Has(name)) {
      Take(name, &text);
      value = text;
    }
  }
  void Text(const char* name, std::optional<std::string>& value) {
    if (Has(name)) Text(name, value.emplace());
  }
  void Bytes(const char* name, std::string& value) {
    std::string_view text;
    Take(name, &text);
    if (!DecodeBase64(text, &value).ok()) ok_ = false;
  }
  void Texts(const char* name, std::optional<std::vector<std::string>>& values) {
    if (!Has(name)) return;
    simdjson::dom::array array;
    Take(name, &array);
    values.emplace();
    for (const simdjson::dom::element element : array) {
      std::string_view text;
      if (element.get(text) != simdjson::SUCCESS) ok_ = false;
      values->emplace_back(text);
    }
  }
  void Whole(const char* name, int64_t& value) { Take(name, &value); }
  void Flag(const char* name, bool& value) { Take(name, &value); }
  template <typename E>
  void Enum(const char* name, E& value, int count) {
    int64_t number = 0;
    Take(name, &number);
    if (number < 0 || number >= count) {
      ok_ = false;
      return;
    }
    value = static_cast<E>(number);
  }
  template <typename T, typename Members>
  void Maybe(const char* name, std::optional<T>& value, Members members) {
    if (!Has(name)) return;
    simdjson::dom::object inner;
    Take(name, &inner);
    std::swap(object_, inner);
    value = T();
    if (ok_) members(*value);
    std::swap(object_, inner);
  }
  template <typename Members>
  void Object(const char* name, Members members) {
    simdjson::dom::object inner;
    Take(name, &inner);
    if (!ok_) return;
    std::swap(object_, inner);
    members();
    std::swap(object_, inner);
  }
  template <typename T, typename Members>
  void Each(const char* name, std::vector<T>& values, Members members) {
    simdjson::dom::array array;
    Take(name, &array);
    if (!ok_) return;
    for (const simdjson::dom::element element : array) {
      simdjson::dom::object inner;
      if (element.get(inner) != simdjson::SUCCESS) {
        ok_ = false;
        return;
      }
      std::swap(object_, inner);
      members(values.emplace_back());
      std::swap(object_, inner);
    }
  }

 private:
  bool Has(const char* name) const { return object_[name].error() == simdjson::SUCCESS; }
  template <typename T>
  void Take(const char* name, T* value) {
    if (object_[name].get(*value) != simdjson::SUCCESS) ok_ = false;
  }
  simdjson::dom::object object_;
  bool ok_ = true;
};

template <typename Visitor, typename AnyJob>
void VisitCommon(Visitor& v, AnyJob& job) {
  v.Text("Id", job.id);
  v.Text("TableArn", job.table_arn);
  v.Text("TableName", job.table_name);
  v.Text("TableId", job.table_id);
  v.Text("ClientToken", job.client_token);
  v.Text("Parameters", job.parameters);
  v.Text("Bucket", job.bucket);
  v.Text("BucketOwner", job.bucket_owner);
  v.Text("Prefix", job.prefix);
  v.Enum("Format", job.format, 3);
  v.Enum("State", job.state, 3);
  v.Whole("Start", job.start_micros);
  v.Whole("End", job.end_micros);
  v.Text("FailureCode", job.failure_code);
  v.Text("FailureMessage", job.failure_message);
}

template <typename Visitor, typename AnyJob>
void VisitExport(Visitor& v, AnyJob& job) {
  VisitCommon(v, job);
  v.Flag("KeyService", job.key_service);
  v.Text("KeyId", job.key_id);
  v.Whole("Moment", job.moment_micros);
  v.Whole("Shown", job.shown_micros);
  v.Maybe("Window", job.window, [&v](auto& window) {
    v.Whole("From", window.from_micros);
    v.Whole("ShownFrom", window.shown_from_micros);
    v.Whole("ShownTo", window.shown_to_micros);
    v.Enum("View", window.view, 2);
  });
  v.Maybe("Filter", job.filter, [&v](auto& filter) {
    v.Text("FilterExpression", filter.filter_expression);
    v.Text("ProjectionExpression", filter.projection_expression);
    v.Text("KeyConditionExpression", filter.key_condition_expression);
    v.Bytes("Names", filter.names);
    v.Bytes("Values", filter.values);
  });
  v.Whole("Items", job.items);
  v.Whole("BilledBytes", job.billed_bytes);
  v.Text("Manifest", job.manifest);
}

template <typename Visitor, typename AnyJob>
void VisitImport(Visitor& v, AnyJob& job) {
  VisitCommon(v, job);
  v.Maybe("Csv", job.csv, [&v](auto& csv) {
    v.Text("Delimiter", csv.delimiter);
    v.Texts("Headers", csv.headers);
  });
  v.Enum("Compression", job.compression, 3);
  v.Bytes("Definition", job.definition);
  v.Flag("Filled", job.filled);
  v.Whole("ProcessedBytes", job.processed_bytes);
  v.Whole("ProcessedItems", job.processed_items);
  v.Whole("ImportedItems", job.imported_items);
  v.Whole("Errors", job.errors);
}

template <typename Visitor, typename Report>
void VisitReport(Visitor& v, Report& report) {
  v.Whole("Lines", report.lines);
  v.Whole("Bytes", report.bytes);
  v.Whole("Parts", report.parts);
  v.Whole("Pending", report.pending);
  v.Whole("PendingBytes", report.pending_bytes);
  v.Flag("Truncated", report.truncated);
}

template <typename Visitor, typename AnyJob>
void VisitBulk(Visitor& v, AnyJob& job) {
  VisitCommon(v, job);
  v.Enum("Compression", job.compression, 3);
  v.Text("OutputBucket", job.output_bucket);
  v.Text("OutputOwner", job.output_owner);
  v.Text("OutputPrefix", job.output_prefix);
  v.Text("Encryption", job.encryption);
  v.Text("KeyId", job.key_id);
  v.Texts("Outputs", job.outputs);
  v.Whole("MaxUnits", job.max_units);
  v.Text("Tier", job.tier);
  v.Flag("Cancelled", job.cancelled);
  // Keys of objects may be any bytes.
  v.Bytes("DoneKey", job.done_key);
  v.Bytes("Key", job.key);
  v.Whole("KeyBytes", job.key_bytes);
  v.Whole("Records", job.records);
  v.Whole("DoneBytes", job.done_bytes);
  v.Whole("TotalBytes", job.total_bytes);
  v.Flag("Listed", job.listed);
  v.Whole("ReadBytes", job.read_bytes);
  v.Whole("ProcessedItems", job.processed_items);
  v.Whole("Errors", job.errors);
  v.Whole("FailedConditions", job.failed_conditions);
  v.Whole("PutItems", job.put_items);
  v.Object("ErrorReport", [&] { VisitReport(v, job.error_report); });
  v.Object("ConditionReport", [&] { VisitReport(v, job.condition_report); });
  v.Whole("TableBytes", job.table_bytes);
  v.Each("Indexes", job.index_usage, [&v](auto& index) {
    v.Text("Name", index.name);
    v.Flag("Local", index.local);
    v.Whole("Bytes", index.bytes);
  });
}

Error Damaged() { return CorruptionError("the record of an export or import is damaged"); }

}  // namespace

std::string EncodeJob(const ExportJob& job) {
  Writing v;
  VisitExport(v, job);
  return v.Take();
}

std::string EncodeJob(const ImportJob& job) {
  Writing v;
  VisitImport(v, job);
  return v.Take();
}

std::string EncodeJob(const BulkJob& job) {
  Writing v;
  VisitBulk(v, job);
  return v.Take();
}

Status DecodeJob(std::string_view text, ExportJob* job) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) return Damaged();
  Reading v(object);
  VisitExport(v, *job);
  return v.ok() ? OkStatus() : Status(Damaged());
}

Status DecodeJob(std::string_view text, ImportJob* job) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) return Damaged();
  Reading v(object);
  VisitImport(v, *job);
  return v.ok() ? OkStatus() : Status(Damaged());
}

Status DecodeJob(std::string_view text, BulkJob* job) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(text.data(), text.size()).get(object) != simdjson::SUCCESS) return Damaged();
  Reading v(object);
  VisitBulk(v, *job);
  return v.ok() ? OkStatus() : Status(Damaged());
}

}  // namespace stator::exchange
