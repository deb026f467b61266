// Items of tests, from and to the JSON of the API.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "api/attribute_json.h"
#include "model/value.h"
#include "simdjson.h"

namespace stator::bulk {

// Returns the encoded item of {"pk":{"S":"a"}}.
inline std::string ItemOf(std::string_view json) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  std::string item;
  std::optional<Error> wrong;
  const Status read = api::ReadItem(parser.parse(padded).value(), &item, &wrong);
  EXPECT_TRUE(read.ok() && !wrong) << json;
  return item;
}

inline std::string JsonOf(std::string_view item) {
  EXPECT_TRUE(model::CheckItem(item).ok());
  std::string json;
  api::AppendItemJson(&json, model::ItemView(item));
  return json;
}

}  // namespace stator::bulk
