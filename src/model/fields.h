// Structures as encoded items. One function template lists each member once
//
//   template <typename Visitor, typename T>
//   void Visit(Visitor& v, T& t) { v.String("Name", t.name); ... }
//
// and serves for writing and reading, so neither side can forget a member. Readers ignore unknown
// members. The grammars stand above the users of these classes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/key_schema.h"
#include "model/node.h"
#include "model/value.h"

namespace stator::model {

class FieldWriter {
 public:
  void String(const char* name, const std::string& value);
  // Left out when it is empty.
  void StringIfAny(const char* name, const std::string& value) {
    if (!value.empty()) String(name, value);
  }
  // Any integer or enum that an int64_t can hold.
  template <typename Int>
  void Integer(const char* name, const Int& value) {
    PutInteger(name, static_cast<int64_t>(value));
  }
  void Bool(const char* name, const bool& value);
  void Optional(const char* name, const std::optional<int64_t>& value);
  // Each attribute is written as "S:name".
  void KeyAttributes(const char* name, const std::vector<KeyAttribute>& attributes);
  void Key(const char* name, const KeySchema& schema);
  void Strings(const char* name, const std::map<std::string, std::string>& map);
  void Texts(const char* name, const std::vector<std::string>& texts);
  // Each value is written as a decimal text.
  void Unsigned(const char* name, const std::vector<uint64_t>& values);
  // Writes a list of structures, by `visit(writer, value)`; left out if it is empty.
  template <typename T, typename Visit>
  void Structures(const char* name, const std::vector<T>& values, Visit visit) {
    if (values.empty()) return;
    std::string elements;
    for (const T& value : values) {
      FieldWriter writer;
      visit(writer, value);
      writer.root_.AppendTo(&elements);
    }
    PutList(name, values.size(), elements);
  }

  // Writes one structure; left out if there is none.
  template <typename T, typename Visit>
  void Structure(const char* name, const std::optional<T>& value, Visit visit) {
    if (!value) return;
    FieldWriter writer;
    visit(writer, *value);
    root_.map()[name] = std::move(writer.root_);
  }

  // Returns the encoded item.
  std::string Finish() const { return root_.EncodeItem(); }

 private:
  void PutInteger(const char* name, int64_t value);
  void Put(const char* name, std::string encoded) {
    root_.map()[name] = Node::FromOwned(std::move(encoded));
  }
  void PutList(const char* name, size_t count, std::string_view elements);
  Node root_;
};

// Leaves absent members unchanged. ok() tells whether a required member was missing or any member
// had a wrong type.
class FieldReader {
 public:
  // The bytes behind the view have passed CheckItem.
  explicit FieldReader(MapView map) : map_(map) {}

  void String(const char* name, std::string& value);
  void StringIfAny(const char* name, std::string& value);
  template <typename Int>
  void Integer(const char* name, Int& value) {
    std::optional<int64_t> integer;
    GetInteger(name, true, integer);
    if (!integer) return;
    value = static_cast<Int>(*integer);
    if (static_cast<int64_t>(value) != *integer) ok_ = false;
  }
  void Bool(const char* name, bool& value);
  void Optional(const char* name, std::optional<int64_t>& value) { GetInteger(name, false, value); }
  void KeyAttributes(const char* name, std::vector<KeyAttribute>& attributes);
  void Key(const char* name, KeySchema& schema);
  void Strings(const char* name, std::map<std::string, std::string>& map);
  void Texts(const char* name, std::vector<std::string>& texts);
  void Unsigned(const char* name, std::vector<uint64_t>& values);
  template <typename T, typename Visit>
  void Structures(const char* name, std::vector<T>& values, Visit visit) {
    const ValueView found = Find(name, Type::kL, false);
    if (found.empty()) return;
    for (ValueView element : found.list()) {
      if (element.type() != Type::kM) return Fail();
      FieldReader reader(element.map());
      visit(reader, values.emplace_back());
      if (!reader.ok()) Fail();
    }
  }

  template <typename T, typename Visit>
  void Structure(const char* name, std::optional<T>& value, Visit visit) {
    const ValueView found = Find(name, Type::kM, false);
    if (found.empty()) return;
    FieldReader reader(found.map());
    visit(reader, value.emplace());
    if (!reader.ok()) Fail();
  }

  bool ok() const { return ok_; }
  void Fail() { ok_ = false; }

 private:
  ValueView Find(const char* name, Type type, bool required);
  void GetInteger(const char* name, bool required, std::optional<int64_t>& value);
  std::string_view TextOf(ValueView value);

  MapView map_;
  bool ok_ = true;
};

}  // namespace stator::model
