// The tables against the API model's input constraints: every bound of the model is in a table, and
// nothing else is.
#include "api/schema.h"
#include "api/patterns.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "simdjson.h"

namespace stator::api {
namespace {

// One line per constrained place, as in testdata/input-constraints.json: "type min=1 max=2 pattern
// enum=A,B required".
using Constraints = std::map<std::string, std::string>;

std::string TypeWord(Kind kind) {
  switch (kind) {
    case Kind::kString:
    case Kind::kEnum: return "string";
    case Kind::kInteger: return "integer";
    case Kind::kLong: return "long";
    case Kind::kTime: return "timestamp";
    case Kind::kBoolean: return "boolean";
    case Kind::kStruct:
    case Kind::kValue: return "struct";
    case Kind::kList: return "list";
    case Kind::kMap:
    case Kind::kItem: return "map";
  }
  return "";
}

std::string Line(const std::string& word, int64_t min, int64_t max, const std::string& pattern,
                 const std::vector<std::string>& enums, bool required) {
  std::ostringstream line;
  line << word;
  if (min != kNoMin) line << " min=" << min;
  if (max != kNoMax) line << " max=" << max;
  if (!pattern.empty()) line << " pattern=" << pattern;
  for (const std::string& name : enums) line << " " << name;
  if (required) line << " required";
  return line.str();
}

void Flatten(const Type& type, bool required, const std::string& path, Constraints* out) {
  std::vector<std::string> enums;
  if (type.enums != nullptr) enums.assign(type.enums->names.begin(), type.enums->names.end());
  const std::string line = Line(TypeWord(type.kind), type.min, type.max,
                                std::string(PatternText(type.pattern)), enums, required);
  if (line != TypeWord(type.kind)) (*out)[path] = line;
  if (type.key != nullptr) Flatten(*type.key, false, path + ".KEY", out);
  if (type.kind == Kind::kList) Flatten(*type.element, false, path + ".N.member", out);
  if (type.kind == Kind::kMap) Flatten(*type.element, false, path + ".KEY.member", out);
  if (type.kind != Kind::kStruct) return;
  for (const Field& field : type.shape->fields) {
    std::string name(field.name);
    name[0] = static_cast<char>(std::tolower(name[0]));
    Flatten(*field.type, field.required, path.empty() ? name : path + "." + name, out);
  }
}

Constraints FromTables(const OperationSchema& schema) {
  Constraints constraints;
  const Type whole{.kind = Kind::kStruct, .shape = schema.shape};
  Flatten(whole, false, "", &constraints);
  return constraints;
}

Constraints FromModel(simdjson::dom::array rows) {
  Constraints constraints;
  for (const simdjson::dom::element row : rows) {
    const simdjson::dom::element bounds = row.at(2);
    int64_t min = kNoMin;
    int64_t max = kNoMax;
    std::string pattern;
    std::vector<std::string> enums;
    if (bounds["min"].error() == simdjson::SUCCESS) min = bounds["min"].get_int64().value_unsafe();
    if (bounds["max"].error() == simdjson::SUCCESS) max = bounds["max"].get_int64().value_unsafe();
    if (bounds["pattern"].error() == simdjson::SUCCESS)
      pattern = bounds["pattern"].get_string().value_unsafe();
    if (bounds["enum"].error() == simdjson::SUCCESS) {
      for (const simdjson::dom::element name : bounds["enum"].get_array()) {
        enums.emplace_back(name.get_string().value_unsafe());
      }
    }
    const std::string path(row.at(0).get_string().value_unsafe());
    const std::string word(row.at(1).get_string().value_unsafe());
    constraints[path] =
        Line(word, min, max, pattern, enums, bounds["required"].error() == simdjson::SUCCESS);
  }
  return constraints;
}

// Tests run somewhere below the checkout.
std::string ModelPath() {
  const std::string relative = "src/api/testdata/input-constraints.json";
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / relative)) return (at / relative).string();
    if (at == at.parent_path())
      return (std::filesystem::path(__FILE__).parent_path() / "testdata/input-constraints.json")
          .string();
  }
}

class SchemaModelTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(parser_.load(ModelPath()).get(model_), simdjson::SUCCESS) << ModelPath();
  }
  simdjson::dom::parser parser_;
  simdjson::dom::element model_;
};

TEST_F(SchemaModelTest, TablesHoldTheModelsConstraints) {
  for (const OperationSchema* schema : AllSchemas()) {
    SCOPED_TRACE(schema->name);
    simdjson::dom::array rows;
    Constraints expected;
    // The model file may leave out operations without any constraint.
    if (model_[schema->name].get(rows) == simdjson::SUCCESS) expected = FromModel(rows);
    const Constraints actual = FromTables(*schema);
    for (const auto& [path, line] : expected) {
      const auto found = actual.find(path);
      EXPECT_TRUE(found != actual.end()) << "not in the tables: " << path << ": " << line;
      if (found != actual.end()) {
        EXPECT_EQ(found->second, line) << path;
      }
    }
    for (const auto& [path, line] : actual)
      EXPECT_TRUE(expected.contains(path)) << "not in the model: " << path << line;
  }
}

// Where the tables say more than the model, on purpose, because the service does (reference:
// wire-protocol.md and expressions.md): names of tables, parameters whose absence has a text of its
// own, the newer validator, how many failures.
TEST_F(SchemaModelTest, DeliberateDeviations) {
  std::set<std::string> deviations;
  for (const OperationSchema* schema : AllSchemas()) {
    const std::string name(schema->name);
    if (schema->newer_validator) deviations.insert(name + ": newer validator");
    if (schema->max_failures != 10)
      deviations.insert(name + ": failures " + std::to_string(schema->max_failures));
    for (const Field& field : schema->shape->fields) {
      if (!field.absent_message.empty()) {
        deviations.insert(name + "." + std::string(field.name) + ": own text if absent");
      }
      if (field.type->table_name_min > 1) {
        deviations.insert(name + "." + std::string(field.name) + ": from " +
                          std::to_string(field.type->table_name_min));
      }
      // ListStreams takes names only.
      if (field.name == "TableName" && name != "ListStreams") {
        EXPECT_GT(field.type->table_name_min, 0) << name;
      }
      if (field.type->element_bounds_at_map) {
        deviations.insert(name + "." + std::string(field.name) + ": element bounds at the map");
      }
    }
  }
  const std::set<std::string> expected = {
      "BatchGetItem.RequestItems: own text if absent",
      "BatchGetItem: newer validator",
      "BatchWriteItem.RequestItems: element bounds at the map",
      "BatchWriteItem.RequestItems: own text if absent",
      "CreateTable.TableName: from 3",
      "CreateTable.TableName: own text if absent",
      "DeleteTable.TableName: own text if absent",
      "DescribeTable.TableName: own text if absent",
      "DescribeTimeToLive.TableName: own text if absent",
      "Query: newer validator",
      "UpdateItem: failures 1",
      "UpdateTable.TableName: own text if absent",
      "UpdateTimeToLive.TableName: own text if absent",
  };
  EXPECT_EQ(deviations, expected);
}

void CheckEnums(const Type& type, std::set<const Type*>* seen, int* enums) {
  if (!seen->insert(&type).second) return;
  if (type.element != nullptr) CheckEnums(*type.element, seen, enums);
  if (type.shape != nullptr) {
    EXPECT_LE(type.shape->fields.size(), 32u);
    for (const Field& field : type.shape->fields) CheckEnums(*field.type, seen, enums);
  }
  if (type.enums == nullptr) return;
  ++*enums;
  // What is printed is a permutation of the names.
  std::set<std::string> printed;
  std::string text(type.enums->printed.substr(1, type.enums->printed.size() - 2));
  for (size_t at; (at = text.find(", ")) != std::string::npos; text.erase(0, at + 2))
    printed.insert(text.substr(0, at));
  printed.insert(text);
  EXPECT_EQ(printed, std::set<std::string>(type.enums->names.begin(), type.enums->names.end()))
      << type.enums->printed;
}

TEST(SchemaTest, PrintedEnumsAreTheEnums) {
  std::set<const Type*> seen;
  int enums = 0;
  for (const OperationSchema* schema : AllSchemas()) {
    for (const Field& field : schema->shape->fields) CheckEnums(*field.type, &seen, &enums);
  }
  EXPECT_GE(enums, 18);
}

TEST(SchemaTest, NamesOfOperationsAndMembersAreUnique) {
  std::set<std::string_view> operations;
  for (const OperationSchema* schema : AllSchemas()) {
    EXPECT_TRUE(operations.insert(schema->name).second) << schema->name;
    std::set<std::string_view> members;
    for (const Field& field : schema->shape->fields) {
      EXPECT_TRUE(members.insert(field.name).second) << schema->name << "." << field.name;
    }
  }
  EXPECT_FALSE(operations.empty());
}

}  // namespace
}  // namespace stator::api
