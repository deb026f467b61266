#include "api/audit_parameters.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "api/schema.h"
#include "audit/record.h"
#include "audit/redact.h"
#include "base/json_writer.h"
#include "base/printable.h"

namespace stator::api {
namespace {

namespace dom = simdjson::dom;

constexpr int kMaxDepth = 32;

const Shape* ShapeOf(std::string_view operation) {
  for (const OperationSchema* const schema : AllSchemas()) {
    if (schema->name == operation) return schema->shape;
  }
  return nullptr;
}

std::string LowerCamel(std::string_view name) {
  std::string text(name);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return text;
}

// Whether the member is a token of the client's or the server's making. Tokens say nothing, and
// some are rights.
bool IsToken(std::string_view name) {
  return name == "NextToken" || name == "ShardIterator" || name == "ClientRequestToken";
}

bool MayHoldLiterals(std::string_view name) {
  return name == "Statement" || name.ends_with("Expression");
}

class Writer {
 public:
  std::string Write(const Shape& shape, const dom::object& body) {
    Structure(shape, body, 0);
    if (full_) return {};
    std::string text = out_.Take();
    text.pop_back();
    return text;
  }

 private:
  bool Spend(size_t bytes) {
    spent_ += bytes;
    full_ = full_ || spent_ > audit::kMaxParameterBytes;
    return !full_;
  }
  void Text(std::string_view text) {
    // A text beyond the bound is not looked at.
    if (Spend(text.size() + 3)) out_.Text(Printable(text));
  }

  void Structure(const Shape& shape, const dom::object& object, int depth) {
    out_.Open('{');
    for (const Field& field : shape.fields) {
      dom::element value;
      if (full_ || object[field.name].get(value) != simdjson::SUCCESS || value.is_null()) continue;
      if (IsToken(field.name) || field.type->kind == Kind::kValue) continue;
      if (!Spend(field.name.size() + 3)) break;
      out_.Key(LowerCamel(field.name));
      Value(field.name, *field.type, value, depth + 1);
    }
    out_.Close('}');
  }

  void Names(const dom::element& value) {
    out_.Open('[');
    dom::object object;
    if (value.get(object) == simdjson::SUCCESS) {
      for (const auto& [key, ignored] : object) {
        if (full_) break;
        Text(key);
      }
    }
    out_.Close(']');
  }

  void Value(std::string_view name, const Type& type, const dom::element& value, int depth) {
    if (depth > kMaxDepth) {
      out_.Null();
      return;
    }
    switch (type.kind) {
      case Kind::kString:
      case Kind::kEnum: return String(name, value);
      case Kind::kInteger:
      case Kind::kLong: {
        int64_t number = 0;
        if (value.get(number) == simdjson::SUCCESS) {
          out_.Whole(number);
        } else {
          out_.Null();
        }
        return;
      }
      case Kind::kTime: {
        double seconds = 0;
        if (value.get(seconds) == simdjson::SUCCESS && std::abs(seconds) < 1e15) {
          out_.Whole(static_cast<int64_t>(seconds));
        } else {
          out_.Null();
        }
        return;
      }
      case Kind::kBoolean: {
        bool flag = false;
        if (value.get(flag) == simdjson::SUCCESS) {
          out_.Bool(flag);
        } else {
          out_.Null();
        }
        return;
      }
      case Kind::kItem: return Names(value);
      case Kind::kValue: out_.Null(); return;
      case Kind::kStruct: {
        dom::object object;
        if (value.get(object) == simdjson::SUCCESS) return Structure(*type.shape, object, depth);
        out_.Null();
        return;
      }
      case Kind::kList: return List(name, type, value, depth);
      case Kind::kMap: return Map(name, type, value, depth);
    }
  }

  void String(std::string_view name, const dom::element& value) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      out_.Null();
    } else if (!MayHoldLiterals(name)) {
      Text(text);
    } else if (Spend(text.size())) {
      Text(audit::WithoutLiterals(text));
    }
  }

  void List(std::string_view name, const Type& type, const dom::element& value, int depth) {
    dom::array array;
    if (value.get(array) != simdjson::SUCCESS) {
      out_.Null();
    } else if (type.element->kind == Kind::kValue) {
      out_.Whole(static_cast<int64_t>(array.size()));  // how many
    } else {
      out_.Open('[');
      for (const dom::element element : array) {
        if (!Spend(1)) break;
        Value(name, *type.element, element, depth + 1);
      }
      out_.Close(']');
    }
  }

  void Map(std::string_view name, const Type& type, const dom::element& value, int depth) {
    if (type.element->kind == Kind::kValue) return Names(value);
    dom::object object;
    if (value.get(object) != simdjson::SUCCESS) {
      out_.Null();
      return;
    }
    out_.Open('{');
    for (const auto& [key, element] : object) {
      if (!Spend(key.size() + 3)) break;
      out_.Key(Printable(key));
      Value(name, *type.element, element, depth + 1);
    }
    out_.Close('}');
  }

  JsonWriter out_;
  size_t spent_ = 0;
  bool full_ = false;
};

class Subjects {
 public:
  explicit Subjects(size_t most) : most_(most) {}

  void Structure(const Shape& shape, const dom::object& object, int depth) {
    for (const Field& field : shape.fields) {
      dom::element value;
      if (object[field.name].get(value) == simdjson::SUCCESS)
        Value(field.name, *field.type, value, depth);
    }
  }
  std::vector<std::string> Take() { return std::move(found_); }

 private:
  void Add(std::string_view text) {
    if (found_.size() >= most_ || std::find(found_.begin(), found_.end(), text) != found_.end())
      return;
    found_.emplace_back(text);
  }

  void Value(std::string_view name, const Type& type, const dom::element& value, int depth) {
    if (depth > kMaxDepth || found_.size() >= most_) return;
    std::string_view text;
    dom::object object;
    dom::array array;
    constexpr std::array<std::string_view, 11> kNames = {
        "TableName",       "ResourceArn",     "StreamArn",       "TableArn",
        "TargetTableName", "SourceTableName", "SourceTableArn",  "BackupArn",
        "ExportArn",       "ImportArn",       "BulkOperationArn"};
    if (type.kind == Kind::kString && value.get(text) == simdjson::SUCCESS) {
      if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) Add(text);
    } else if (type.kind == Kind::kStruct && value.get(object) == simdjson::SUCCESS) {
      Structure(*type.shape, object, depth + 1);
    } else if (type.kind == Kind::kMap && name == "RequestItems" &&
               value.get(object) == simdjson::SUCCESS) {
      for (const auto& [key, ignored] : object) Add(key);
    } else if (type.kind == Kind::kList && type.element->kind == Kind::kStruct &&
               value.get(array) == simdjson::SUCCESS) {
      for (const dom::element element : array) Value(name, *type.element, element, depth + 1);
    }
  }

  const size_t most_;
  std::vector<std::string> found_;
};

}  // namespace

std::string AuditParameters(std::string_view operation, dom::element body) {
  const Shape* const shape = ShapeOf(operation);
  dom::object object;
  if (shape == nullptr || body.get(object) != simdjson::SUCCESS) return {};
  std::string text = Writer().Write(*shape, object);
  return text.empty() ? R"({"omitted":true})" : text;
}

std::vector<std::string> AuditSubjects(std::string_view operation, dom::element body, size_t most) {
  const Shape* const shape = ShapeOf(operation);
  dom::object object;
  if (shape == nullptr || body.get(object) != simdjson::SUCCESS) return {};
  Subjects subjects(most);
  subjects.Structure(*shape, object, 0);
  return subjects.Take();
}

}  // namespace stator::api
