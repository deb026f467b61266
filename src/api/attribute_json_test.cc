#include "api/attribute_json.h"

#include <gtest/gtest.h>

#include "base/base64.h"

namespace stator::api {
namespace {

struct Read {
  std::string encoded;
  std::optional<Error> value_error;
  std::optional<Error> type_error;
  bool parsed = false;
};

Read ReadText(std::string_view json, bool item) {
  Read read;
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  simdjson::dom::element root;
  if (parser.parse(padded).get(root) != simdjson::SUCCESS) return read;
  read.parsed = true;
  const Status status = item ? ReadItem(root, &read.encoded, &read.value_error)
                             : ReadValue(root, &read.encoded, &read.value_error);
  if (!status.ok()) read.type_error = status.error();
  return read;
}

std::string RoundTrip(std::string_view json) {
  const Read read = ReadText(json, true);
  if (!read.parsed || read.type_error || read.value_error) return "refused";
  EXPECT_TRUE(model::CheckItem(read.encoded).ok()) << json;
  std::string out = "before";
  AppendItemJson(&out, model::ItemView(read.encoded));
  return out.substr(6);
}

TEST(AttributeJson, WritesWhatItRead) {
  for (
      std::string_view json : {
          R"({})",
          R"({"a":{"S":""}})",
          R"({"a":{"S":"x"},"b":{"N":"1"},"c":{"B":"YQ=="},"d":{"BOOL":true},"e":{"BOOL":false},"f":{"NULL":true}})",
          R"({"l":{"L":[]},"m":{"M":{}}})",
          R"({"l":{"L":[{"S":"x"},{"L":[{"N":"2"}]},{"M":{"k":{"S":"v"}}}]}})",
          R"({"m":{"M":{"S":{"S":"x"}}}})",
          R"({"b":{"BS":["","YQ==","YWE="]},"n":{"NS":["-1","2","10"]},"s":{"SS":["","a","b"]}})",
          R"({"quote\"d":{"S":"a\"b\\c\n\r\t\b\f\u0001"},"ß":{"S":"日本\u001f"}})",
          R"({"b":{"B":""}})",
          R"({"s":{"SS":["a\nb"]}})",
      }) {
    EXPECT_EQ(RoundTrip(json), json);
  }
}

TEST(AttributeJson, MakesValuesCanonical) {
  struct Case {
    std::string_view json, canonical;
  };
  for (const Case& c : {
           Case{R"({"b":{"S":"1"},"a":{"S":"2"}})", R"({"a":{"S":"2"},"b":{"S":"1"}})"},
           Case{R"({"a":{"S":"1"},"b":{"S":"x"},"a":{"S":"2"}})",
                R"({"a":{"S":"2"},"b":{"S":"x"}})"},
           Case{R"({"a":{"S":"1","S":"2"}})", R"({"a":{"S":"2"}})"},
           Case{R"({"a":{"N":"001.50e1"}})", R"({"a":{"N":"15"}})"},
           Case{R"({"a":{"N":"-0"}})", R"({"a":{"N":"0"}})"},
           Case{R"({"a":{"SS":["b","a","c"]}})", R"({"a":{"SS":["a","b","c"]}})"},
           Case{R"({"a":{"NS":["10","9","1e-1"]}})", R"({"a":{"NS":["0.1","9","10"]}})"},
           Case{R"({"a":{"S":null,"N":"1"}})", R"({"a":{"N":"1"}})"},
           Case{R"({"a":{"Z":5,"N":"1"}})", R"({"a":{"N":"1"}})"},
           Case{R"({"a":{"BOOL":"YES"},"b":{"BOOL":"0"},"c":{"NULL":"True"}})",
                R"({"a":{"BOOL":true},"b":{"BOOL":false},"c":{"NULL":true}})"},
           Case{R"({"a":{"S":"\u00e9\ud83d\ude00"}})", R"({"a":{"S":"é😀"}})"},
           Case{R"({"a":{"S":"\u0041\/"}})", R"({"a":{"S":"A/"}})"},
       }) {
    EXPECT_EQ(RoundTrip(c.json), c.canonical) << c.json;
  }
}

TEST(AttributeJson, ItemSizeIsTheModels) {
  const Read read =
      ReadText(R"({"ab":{"S":"xyz"},"n":{"N":"-42"},"l":{"L":[{"BOOL":true}]}})", true);
  EXPECT_EQ(model::ItemView(read.encoded).size_bytes(), 2u + 3 + 1 + 3 + 1 + 3 + 1 + 1);
}

TEST(AttributeJson, RefusesTypesWithTheServicesTexts) {
  constexpr std::string_view kMap =
      "Unrecognized collection type java.util.Map<java.lang.String, "
      "com.amazonaws.dynamodb.v20120810.AttributeValue>";
  struct Case {
    std::string_view json, text;
  };
  for (const Case& c : {
           Case{R"("x")", "Unexpected field type"},
           Case{R"([])", kMap},
           Case{R"({"a":1})", "Unexpected value type in payload"},
           Case{R"({"a":"x"})", "Unexpected value type in payload"},
           Case{R"({"a":[]})",
                "Unrecognized collection type class "
                "com.amazonaws.dynamodb.v20120810.AttributeValue"},
           Case{R"({"a":{"S":1}})", "NUMBER_VALUE cannot be converted to String"},
           Case{R"({"a":{"S":18446744073709551615}})",
                "NUMBER_VALUE cannot be converted to String"},
           Case{R"({"a":{"S":1.5}})", "DECIMAL_VALUE cannot be converted to String"},
           Case{R"({"a":{"S":true}})", "TRUE_VALUE cannot be converted to String"},
           Case{R"({"a":{"N":false}})", "FALSE_VALUE cannot be converted to String"},
           Case{R"({"a":{"N":1}})", "NUMBER_VALUE cannot be converted to String"},
           Case{R"({"a":{"S":[]}})", "Unrecognized collection type class java.lang.String"},
           Case{R"({"a":{"S":{}}})", "Start of structure or map found where not expected"},
           Case{R"({"a":{"B":1}})", "only base-64-encoded strings are convertible to bytes"},
           Case{R"({"a":{"B":true}})", "only base-64-encoded strings are convertible to bytes"},
           Case{R"({"a":{"B":"YQ="}})",
                "Base64 encoded length is expected a multiple of 4 bytes but found: 3"},
           Case{R"({"a":{"B":"YR=="}})", "Invalid last non-pad Base64 character dectected"},
           Case{R"({"a":{"B":"Y!=="}})", "Invalid last non-pad Base64 character dectected"},
           Case{R"({"a":{"B":"===="}})", "Invalid last non-pad Base64 character dectected"},
           Case{R"({"a":{"B":"YQ==YQ=="}})", "Invalid last non-pad Base64 character dectected"},
           Case{R"({"a":{"BOOL":"maybe"}})", "Unexpected token received from parser"},
           Case{R"({"a":{"BOOL":1}})", "NUMBER_VALUE cannot be converted to Boolean"},
           Case{R"({"a":{"BOOL":[]}})", "Unrecognized collection type class java.lang.Boolean"},
           Case{R"({"a":{"L":"x"}})", "Unexpected value type in payload"},
           Case{R"({"a":{"L":{}}})", "Start of structure or map found where not expected"},
           Case{R"({"a":{"SS":{}}})", "Start of structure or map found where not expected"},
           Case{R"({"a":{"SS":[1]}})", "NUMBER_VALUE cannot be converted to String"},
           Case{R"({"a":{"M":[]}})", kMap},
           Case{R"({"a":{"M":true}})", "Unexpected value type in payload"},
           // A type error comes before every value error.
           Case{R"({"a":{"SS":[]},"b":{"S":1}})", "NUMBER_VALUE cannot be converted to String"},
       }) {
    const Read read = ReadText(c.json, true);
    ASSERT_TRUE(read.parsed) << c.json;
    ASSERT_TRUE(read.type_error.has_value()) << c.json;
    EXPECT_EQ(read.type_error->code(), ErrorCode::kSerialization);
    EXPECT_EQ(read.type_error->message(), c.text) << c.json;
  }
}

TEST(AttributeJson, KeepsValueErrorsForLater) {
  constexpr std::string_view kEmpty =
      "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
  struct Case {
    std::string_view json, text;
  };
  for (const Case& c : {
           Case{R"({"a":{}})", kEmpty},
           Case{R"({"a":null})", kEmpty},
           Case{R"({"a":{"S":null}})", kEmpty},
           Case{R"({"a":{"s":"x"}})", kEmpty},
           Case{R"({"a":{"L":[null]}})", kEmpty},
           Case{R"({"a":{"S":"x","N":"1"}})",
                "Supplied AttributeValue has more than one datatypes set, must contain exactly one "
                "of the supported datatypes"},
           Case{R"({"a":{"NULL":false}})",
                "One or more parameter values were invalid: Null attribute value types must have "
                "the value of true"},
           Case{R"({"a":{"SS":[]}})",
                "One or more parameter values were invalid: An string set  may not be empty"},
           Case{R"({"a":{"NS":[]}})",
                "One or more parameter values were invalid: An number set  may not be empty"},
           Case{R"({"a":{"BS":[]}})",
                "One or more parameter values were invalid: Binary sets should not be empty"},
           Case{R"({"a":{"SS":["a","b","a"]}})",
                "One or more parameter values were invalid: Input collection [a, b, a] contains "
                "duplicates."},
           Case{R"({"a":{"NS":["1000","1e3"]}})", "Input collection contains duplicates"},
           Case{R"({"a":{"BS":["YQ==","YQ=="]}})",
                "One or more parameter values were invalid: Input collection [YQ==, YQ==]of type "
                "BS contains duplicates."},
           Case{R"({"a":{"N":"x"}})", "The parameter cannot be converted to a numeric value: x"},
           Case{R"({"a":{"N":""}})", "The parameter cannot be converted to a numeric value"},
           Case{R"({"a":{"N":"1e126"}})",
                "Number overflow. Attempting to store a number with magnitude larger than "
                "supported range"},
           Case{R"({"a":{"NS":["1e-131"]}})",
                "Number underflow. Attempting to store a number with magnitude smaller than "
                "supported range"},
           Case{R"({"a":{"M":{"b":{"L":[{"SS":[]}]}}}})",
                "One or more parameter values were invalid: An string set  may not be empty"},
       }) {
    const Read read = ReadText(c.json, true);
    ASSERT_TRUE(read.parsed) << c.json;
    EXPECT_FALSE(read.type_error.has_value()) << c.json << read.type_error->message();
    ASSERT_TRUE(read.value_error.has_value()) << c.json;
    EXPECT_EQ(read.value_error->code(), ErrorCode::kValidation);
    EXPECT_EQ(read.value_error->message(), c.text) << c.json;
  }
}

TEST(AttributeJson, AFormerValueErrorStays) {
  simdjson::dom::parser parser;
  std::optional<Error> value_error = ValidationError("first");
  std::string out;
  ASSERT_TRUE(
      ReadValue(parser.parse(R"({"SS":[]})"_padded).value_unsafe(), &out, &value_error).ok());
  EXPECT_EQ(value_error->message(), "first");
}

std::string Nested(int levels, bool maps) {
  std::string json;
  for (int i = 0; i < levels; ++i) json += maps ? R"({"M":{"k":)" : R"({"L":[)";
  json += R"({"S":"x"})";
  for (int i = 0; i < levels; ++i) json += maps ? "}}" : "]}";
  return json;
}

TEST(AttributeJson, NestingEndsAt32Levels) {
  for (const bool maps : {false, true}) {
    const Read allowed = ReadText("{\"a\":" + Nested(31, maps) + "}", true);
    EXPECT_FALSE(allowed.type_error || allowed.value_error);
    EXPECT_TRUE(model::CheckItem(allowed.encoded).ok());
    EXPECT_FALSE(ReadText(Nested(31, maps), false).value_error.has_value());
    for (const int levels : {32, 33, 200, 500}) {
      const Read refused = ReadText("{\"a\":" + Nested(levels, maps) + "}", true);
      ASSERT_TRUE(refused.value_error.has_value());
      EXPECT_EQ(refused.value_error->message(),
                "Nesting Levels have exceeded supported limits: Attributes in the item have nested "
                "levels beyond supported "
                "limit");
      EXPECT_TRUE(ReadText(Nested(levels, maps), false).value_error.has_value());
    }
  }
}

TEST(AttributeJson, AWideItemWithManyDuplicateNames) {
  std::string json = "{";
  for (int i = 0; i < 20000; ++i)
    json += "\"k" + std::to_string(i % 100) + "\":{\"N\":\"" + std::to_string(i) + "\"},";
  json.back() = '}';
  const Read read = ReadText(json, true);
  ASSERT_FALSE(read.type_error || read.value_error);
  const model::ItemView item(read.encoded);
  EXPECT_EQ(item.attributes().size(), 100u);
  EXPECT_EQ(item.Find("k7").text(), "19907");
}

TEST(AttributeJson, LongTextsWithEscapesAreWrittenWhole) {
  const std::string text(100000, '\x01');
  std::string out;
  AppendJsonString(&out, text);
  EXPECT_EQ(out.size(), 600002u);
  simdjson::dom::parser parser;
  EXPECT_EQ(std::string_view(parser.parse(out)), text);
}

TEST(AttributeJson, EscapesSurviveAnywhereInAText) {
  simdjson::dom::parser parser;
  for (size_t length = 1; length < 140; ++length) {
    for (size_t at = 0; at < length; ++at) {
      std::string text(length, 'x');
      text[at] = "\"\\\n\x01"[at % 4];
      std::string out = "before";
      AppendJsonString(&out, text);
      ASSERT_EQ(std::string_view(parser.parse(out.substr(6))), text) << length << " " << at;
    }
  }
}

// What Query writes straight from the store is what every other reply says of an item.
TEST(AttributeJson, ListedItemsAreItemsBetweenCommas) {
  const std::string texts[] = {
      R"({})",
      R"({"a":{"S":"1"}})",
      R"({"a \" b":{"M":{"k":{"L":[{"NULL":true},{"BOOL":false},{"S":"tab\t"},{"N":"-1.5"}]}}},"z":{"NS":["1","2"]}})",
      R"({"b":{"B":"AAECAw=="},"bs":{"BS":["AQ==","Ag=="]},"ss":{"SS":["\u0001","\u00e9"]},"t":{"S":")" +
          std::string(3000, 'y') + R"("}})",
  };
  ByteBuffer list;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    const Read read = ReadText(texts[i % 4], true);
    ASSERT_FALSE(read.type_error || read.value_error) << i % 4;
    WriteListedItem(model::ItemView(read.encoded), i == 0, &list);
    if (i > 0) expected += ',';
    AppendItemJson(&expected, model::ItemView(read.encoded));
    ASSERT_EQ(list.view(), expected) << i;
  }
}

TEST(AttributeJson, EveryByteSurvivesAString) {
  for (int c = 0; c < 128; ++c) {
    const std::string text = std::string("ab") + static_cast<char>(c) + "cdefghijkl";
    std::string out;
    AppendJsonString(&out, text);
    simdjson::dom::parser parser;
    EXPECT_EQ(std::string_view(parser.parse(out)), text) << c;
  }
  std::string empty;
  AppendJsonString(&empty, {});
  EXPECT_EQ(empty, "\"\"");
}

TEST(Base64, RoundTripsEveryLength) {
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    std::string text;
    AppendBase64(&text, bytes);
    EXPECT_EQ(text.size(), Base64Length(bytes.size()));
    std::string back = "x";
    ASSERT_TRUE(DecodeBase64(text, &back).ok());
    EXPECT_EQ(back, "x" + bytes);
    bytes.push_back(static_cast<char>(length * 37));
  }
}

TEST(Base64, KnownTexts) {
  struct Case {
    std::string_view bytes, text;
  };
  for (const Case& c : {Case{"", ""}, Case{"f", "Zg=="}, Case{"fo", "Zm8="}, Case{"foo", "Zm9v"},
                        Case{"\xff\xfe\xfd", "//79"}, Case{"\xfb\xef\xbe", "++++"}}) {
    std::string text;
    AppendBase64(&text, c.bytes);
    EXPECT_EQ(text, c.text);
  }
}

// What lies behind the first 400 KB of an item is checked and not kept: a smaller item is refused
// all the same.
TEST(AttributeJson, ItemsThatAreTooLargeAreCutOff) {
  const auto read = [](const std::string& json, std::string* item) {
    simdjson::dom::parser parser;
    std::optional<Error> value_error;
    const Status status = ReadItem(parser.parse(json), item, &value_error);
    if (!status.ok()) return status.error().message();
    return value_error ? value_error->message() : std::string();
  };
  const auto list = [](const std::string& element, int count, const std::string& last) {
    std::string json = R"({"a":{"L":[)";
    for (int i = 0; i < count; ++i) json += element + ",";
    return json + last + "]}}";
  };
  for (const std::string element :
       {R"({"N":"1E125"})", R"({"NULL":true})", R"({"S":"x"})", R"({"L":[{"N":"1"},{"S":""}]})",
        R"({"M":{"k":{"B":"AAAA"}}})", R"({"NS":["1","2"]})"}) {
    std::string item;
    EXPECT_EQ(read(list(element, 300'000, element), &item), "") << element;
    EXPECT_GT(model::ItemView(item).size_bytes(), model::kMaxItemBytes) << element;
    EXPECT_LT(model::ItemView(item).size_bytes(), 3 * model::kMaxItemBytes) << element;
    EXPECT_TRUE(model::CheckItem(item).ok()) << element;
    item.clear();
    EXPECT_EQ(read(list(element, 300'000, "7"), &item), "Unexpected value type in payload");
    item.clear();
    EXPECT_EQ(read(list(element, 300'000, R"({"NULL":false})"), &item),
              "One or more parameter values were invalid: Null attribute value types must have the "
              "value of true");
  }
  // Sets: members count until one is too many.
  std::string numbers = R"({"a":{"NS":["0")";
  for (int i = 1'000'000; i < 1'400'000; ++i) numbers += ",\"" + std::to_string(i) + "\"";
  std::string item;
  EXPECT_EQ(read(numbers + R"(]},"b":{"SS":["x","y"]}})", &item), "");
  EXPECT_GT(model::ItemView(item).size_bytes(), model::kMaxItemBytes);
  EXPECT_TRUE(model::CheckItem(item).ok());
  item.clear();
  EXPECT_EQ(read(numbers + ",7]}}", &item), "NUMBER_VALUE cannot be converted to String");
}

TEST(AttributeJson, AValueThatIsReplacedDoesNotCount) {
  const std::string large(500'000, 'x');
  simdjson::dom::parser parser;
  for (const std::string& json :
       {R"({"a":{"S":")" + large + R"(","S":"x"},"b":{"S":"y"}})",
        R"({"a":{"S":")" + large + R"("},"a":{"S":"x"},"b":{"S":"y"}})"}) {
    std::string item;
    std::optional<Error> value_error;
    ASSERT_TRUE(ReadItem(parser.parse(json), &item, &value_error).ok());
    EXPECT_FALSE(value_error);
    std::string text;
    AppendItemJson(&text, model::ItemView(item));
    EXPECT_EQ(text, R"({"a":{"S":"x"},"b":{"S":"y"}})");
  }
}

}  // namespace
}  // namespace stator::api
