#include "mcp/paged.h"

#include <fmt/format.h>

#include <algorithm>

namespace stator::mcp {
namespace {

constexpr int kMostReads = 4;
constexpr size_t kMostSizes = 200;
constexpr size_t kMostName = 255;  // bytes of an attribute's name that are shown

int64_t CountOf(Json reply, std::string_view name, int64_t otherwise) {
  return static_cast<int64_t>(NumberMember(reply, name).value_or(static_cast<double>(otherwise)));
}

// The items as text, and their number.
std::string ItemsOf(Json reply, size_t* count) {
  const std::optional<Json> items = Member(reply, "Items");
  simdjson::dom::array array;
  *count = items && items->get(array) == simdjson::SUCCESS ? array.size() : 0;
  return items ? TextOf(*items) : "[]";
}

}  // namespace

std::string SizesOf(Json item) {
  ObjectText sizes;
  simdjson::dom::object object;
  size_t left = kMostSizes;
  if (item.get(object) != simdjson::SUCCESS) return sizes.Take();
  for (const auto [name, value] : object) {
    if (left-- == 0) break;
    sizes.AddWhole(Beginning(name, kMostName), static_cast<int64_t>(TextOf(value).size()));
  }
  return sizes.Take();
}

Result<ToolAnswer> ReadPage(int64_t limit, const PageNames& names, std::string_view extra,
                            FunctionRef<Result<std::string>(int64_t limit)> read) {
  const int64_t wanted = limit;
  for (int turn = 1;; ++turn) {
    ASSIGN_OR_RETURN(const std::string text, read(limit));
    ASSIGN_OR_RETURN(const Document reply, Document::Parse(text));
    size_t count = 0;
    std::string items = ItemsOf(reply.root(), &count);
    const bool fits = items.size() <= kMostAnswerBytes;
    if (!fits && limit > 1) {
      // Fewer by as much as it was too long, and a bit more.
      const auto fitting = static_cast<int64_t>(static_cast<double>(limit) * 0.8 *
                                                static_cast<double>(kMostAnswerBytes) /
                                                static_cast<double>(items.size()));
      limit = turn + 1 < kMostReads ? std::clamp<int64_t>(fitting, 1, limit - 1) : 1;
      continue;
    }
    ObjectText out;
    out.Add("items", fits ? items : "[]");
    out.AddWhole("count", fits ? static_cast<int64_t>(count) : 0);
    out.AddWhole("scanned", CountOf(reply.root(), "ScannedCount", static_cast<int64_t>(count)));
    if (const std::optional<Json> consumed = Member(reply.root(), "ConsumedCapacity"))
      out.AddMember(*consumed, "CapacityUnits");
    const std::optional<Json> next = Member(reply.root(), names.from);
    if (next) out.Add(names.to, TextOf(*next));
    if (!fits) {
      simdjson::dom::array array;
      const std::optional<Json> list = Member(reply.root(), "Items");
      if (list && list->get(array) == simdjson::SUCCESS && array.size() > 0)
        out.Add("attribute_sizes", SizesOf(array.at(0).value_unsafe()));
      out.AddText("note",
                  fmt::format("The next item has {} bytes of JSON, more than the {} of an answer. "
                              "Name the attributes that you need, or go on behind it with {}.",
                              items.size(), kMostAnswerBytes, names.to));
    } else if (limit < wanted) {
      out.AddText("note", fmt::format("Cut to {} of {} items that were to be looked at, because an "
                                      "answer has {} bytes at most. Go on with {}.",
                                      limit, wanted, kMostAnswerBytes, names.to));
    } else if (next) {
      out.AddText("note", fmt::format("There may be more: go on with {}.", names.to));
    }
    std::string object = out.Take();
    if (!extra.empty()) object.insert(object.size() - 1, extra);
    return ToolAnswer{std::move(object), "", false};
  }
}

}  // namespace stator::mcp
