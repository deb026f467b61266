#include "bulk/live_items.h"

#include <fmt/format.h>

#include <utility>

#include "api/attribute_json.h"
#include "bulk/format.h"

namespace stator::bulk {
namespace {

using Element = simdjson::dom::element;

std::string JsonOf(const std::string& item) {
  std::string json;
  api::AppendItemJson(&json, model::ItemView(item));
  return json;
}

bool HasKey(const model::KeySchema& key, const std::string& item) {
  const model::ItemView view(item);
  return !view.Find(key.partition.name).empty() &&
         (!key.sort || !view.Find(key.sort->name).empty());
}

}  // namespace

void ChangeSet::Put(const std::string& item) {
  Add(model::KeyAttributesOf(key_, model::ItemView(item)), {true, JsonOf(item)});
}

void ChangeSet::Delete(const std::string& key) { Add(key, {false, JsonOf(key)}); }

void ChangeSet::Add(std::string key, Change change) {
  const auto [place, added] = places_.emplace(std::move(key), changes_.size());
  if (added) {
    changes_.push_back(std::move(change));
  } else {
    changes_[place->second] = std::move(change);
  }
}

Result<std::string> ReadMasked(Element json, const std::optional<Mask>& mask) {
  std::string item;
  std::optional<Error> wrong;
  TRY(api::ReadItem(json, &item, &wrong));
  if (wrong) return *std::move(wrong);
  if (mask) item = mask->Apply(model::ItemView(item));
  return item;
}

Result<std::vector<Change>> PutsOf(simdjson::dom::array items, const model::KeySchema& key,
                                   const std::optional<Mask>& mask) {
  ChangeSet puts(key);
  for (const Element json : items) {
    ASSIGN_OR_RETURN(const std::string item, ReadMasked(json, mask));
    if (!HasKey(key, item)) return ValidationError("the source has an item without its key");
    puts.Put(item);
  }
  return puts.Take();
}

Result<RecordPage> ChangesOf(simdjson::dom::array records, const model::KeySchema& key,
                             const std::optional<Mask>& mask) {
  ChangeSet changes(key);
  RecordPage page;
  for (const Element record : records) {
    Element change, keys, image;
    std::string_view name, number;
    if (record["dynamodb"].get(change) != simdjson::SUCCESS ||
        record["eventName"].get(name) != simdjson::SUCCESS ||
        change["SequenceNumber"].get(number) != simdjson::SUCCESS ||
        change["Keys"].get(keys) != simdjson::SUCCESS)
      return ValidationError("the source's stream has a record that is not DynamoDB's");
    if (name == "REMOVE") {
      ASSIGN_OR_RETURN(const std::string gone, ReadMasked(keys, mask));
      if (!HasKey(key, gone)) return ValidationError("a record of the stream has another key");
      changes.Delete(model::KeyAttributesOf(key, model::ItemView(gone)));
    } else if (change["NewImage"].get(image) == simdjson::SUCCESS) {
      ASSIGN_OR_RETURN(const std::string item, ReadMasked(image, mask));
      if (!HasKey(key, item)) return ValidationError("a record of the stream has another key");
      changes.Put(item);
    } else {
      return ValidationError("the source's stream has no new images");
    }
    ++page.records;
    page.last = number;
    double created = 0;
    if (change["ApproximateCreationDateTime"].get(created) == simdjson::SUCCESS)
      page.created_micros = static_cast<int64_t>(created * 1e6);
  }
  page.changes = changes.Take();
  return page;
}

}  // namespace stator::bulk
