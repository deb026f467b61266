// Tools that change something. Endpoint refuses them without --allow-writes.
#include <fmt/format.h>

#include <utility>

#include "access/sigv4.h"
#include "mcp/paged.h"
#include "mcp/tools.h"

namespace stator::mcp {
namespace {

// The body of a write of an item, and the item of its answer.
ObjectText WriteBody(const Arguments& arguments) {
  ObjectText body;
  for (const auto& [argument, member] :
       {std::pair("table", "TableName"), std::pair("key", "Key"), std::pair("item", "Item"),
        std::pair("update", "UpdateExpression"), std::pair("condition", "ConditionExpression"),
        std::pair("names", "ExpressionAttributeNames"),
        std::pair("values", "ExpressionAttributeValues")}) {
    const std::string raw = arguments.Raw(argument);
    if (!raw.empty()) body.Add(member, raw);
  }
  body.AddText("ReturnConsumedCapacity", "TOTAL");
  return body;
}

Result<ToolAnswer> Write(Change change, ObjectText body, std::string_view returns,
                         std::string_view shown_as, Endpoint& endpoint) {
  body.AddText("ReturnValues", returns);
  ASSIGN_OR_RETURN(const std::string text, endpoint.Do(change, body.Take()));
  ASSIGN_OR_RETURN(const Document reply, Document::Parse(text));
  ObjectText out;
  out.AddBool("done", true);
  if (const std::optional<Json> consumed = Member(reply.root(), "ConsumedCapacity"))
    out.AddMember(*consumed, "CapacityUnits");
  if (const std::optional<Json> item = Member(reply.root(), "Attributes")) {
    const std::string attributes = TextOf(*item);
    if (attributes.size() <= kMostAnswerBytes) {
      out.Add(shown_as, attributes);
    } else {
      out.Add("attribute_sizes", SizesOf(*item));
    }
  }
  return ToolAnswer{out.Take(), "", false};
}

}  // namespace

Result<ToolAnswer> PutItem(const Arguments& arguments, Endpoint& endpoint) {
  return Write(Change::kPutItem, WriteBody(arguments), "ALL_OLD", "replaced_item", endpoint);
}

Result<ToolAnswer> UpdateItem(const Arguments& arguments, Endpoint& endpoint) {
  return Write(Change::kUpdateItem, WriteBody(arguments), "ALL_NEW", "item", endpoint);
}

Result<ToolAnswer> DeleteItem(const Arguments& arguments, Endpoint& endpoint) {
  return Write(Change::kDeleteItem, WriteBody(arguments), "ALL_OLD", "deleted_item", endpoint);
}

Result<ToolAnswer> CreateTable(const Arguments& arguments, Endpoint& endpoint) {
  ASSIGN_OR_RETURN(const std::string text,
                   endpoint.Do(Change::kCreateTable, arguments.Raw("definition")));
  ASSIGN_OR_RETURN(const Document reply, Document::Parse(text));
  return ToolAnswer{ObjectText().AddMember(reply.root(), "TableDescription").Take(), "", false};
}

Result<ToolAnswer> SetFaults(const Arguments& arguments, Endpoint& endpoint) {
  std::string path = "faults/";
  access::AppendUriEncoded(arguments.Text("table"), false, &path);
  ObjectText body;
  body.Add("faults", arguments.Raw("faults"));
  if (arguments.has("seed")) body.Add("seed", arguments.Raw("seed"));
  ASSIGN_OR_RETURN(const std::string text, endpoint.Set("PUT", path, body.Take()));
  ASSIGN_OR_RETURN(const Document reply, Document::Parse(text));
  return ToolAnswer{TextOf(reply.root()), "", false};
}

Result<ToolAnswer> AdvanceClock(const Arguments& arguments, Endpoint& endpoint) {
  const std::string body = ObjectText().AddText("advance", arguments.Text("by")).Take();
  ASSIGN_OR_RETURN(const std::string text, endpoint.Set("POST", "clock", body));
  ASSIGN_OR_RETURN(const Document reply, Document::Parse(text));
  return ToolAnswer{TextOf(reply.root()), "", false};
}

}  // namespace stator::mcp
