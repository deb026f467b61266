// What requests did and cost, for who records them: made of the typed request and the typed answer,
// so that nothing is computed twice. A tapped request asks its operation for all of
// ConsumedCapacity and answers what the client wanted of it.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "ops/responses.h"
#include "request_log/record.h"
#include "table/store.h"

namespace stator::api {

// Thread-safe; must not wait.
class RequestTap {
 public:
  virtual ~RequestTap() = default;
  // Whether it wants to know of requests that begin now.
  virtual bool on() const = 0;
  // Takes the records of one HTTP request. Called on the thread of its loop, before the answer is
  // rendered.
  virtual void Take(std::vector<request_log::Request> requests) = 0;
};

// Operations on items; others are not recorded.
template <typename Request>
concept Tapped = requires(Request& request) {
  { request.return_consumed_capacity } -> std::same_as<std::optional<ops::ReturnConsumedCapacity>&>;
};

// One request between its decoding and its answer. Not thread-safe.
class Trace {
 public:
  // Looks at a request that was decoded; what is wrong with it is for the operation to find.
  template <Tapped Request>
  Trace(const ops::Context& context, Request* request)
      : environment_(context.env),
        operation_(context.operation),
        account_(context.account),
        tells_accounts_(context.tells_accounts),
        at_micros_(context.env.clock.NowMicros()),
        wanted_(std::exchange(request->return_consumed_capacity,
                              ops::ReturnConsumedCapacity::kIndexes)) {
    Describe(*request);
  }

  // The answer. Takes from it what the client did not ask for.
  template <typename Response>
  std::vector<request_log::Request> Finish(Result<Response>* response) && {
    if (!response->ok()) {
      Fail(response->error().code());
    } else {
      Count(&(*response)->consumed_capacity);
      Complete(**response);
    }
    return TakeRequests();
  }

 private:
  struct Part {
    std::string table_name;  // as the client sent it
    table::TablePtr table;
    request_log::Request request;
  };

  void Describe(const ops::GetItemRequest& request);
  void Describe(const ops::PutItemRequest& request);
  void Describe(const ops::UpdateItemRequest& request);
  void Describe(const ops::DeleteItemRequest& request);
  void Describe(const ops::QueryRequest& request);
  void Describe(const ops::ScanRequest& request);
  void Describe(const ops::BatchGetItemRequest& request);
  void Describe(const ops::BatchWriteItemRequest& request);
  void Describe(const ops::TransactGetItemsRequest& request);
  void Describe(const ops::TransactWriteItemsRequest& request);
  void Describe(const ops::ExecuteStatementRequest& request);
  void Describe(const ops::BatchExecuteStatementRequest& request);
  void Describe(const ops::ExecuteTransactionRequest& request);

  void Complete(const ops::GetItemResponse& response);
  void Complete(const ops::QueryResponse& response);
  void Complete(const ops::ScanResponse& response);
  void Complete(const ops::BatchGetItemResponse& response);
  void Complete(const ops::BatchWriteItemResponse& response);
  void Complete(const ops::TransactGetItemsResponse& response);
  void Complete(const ops::TransactWriteItemsResponse&) {}
  void Complete(const ops::ExecuteStatementResponse& response);
  void Complete(const ops::BatchExecuteStatementResponse&) {}
  void Complete(const ops::ExecuteTransactionResponse&) {}
  // PutItem, UpdateItem, DeleteItem.
  template <typename Response>
  requires requires(Response& response) {
    response.item_collection_metrics;
    response.stored_bytes;
  }
  void Complete(const Response& response) {
    for (Part& part : parts_) part.request.stored_bytes = response.stored_bytes;
  }
  template <typename Response>
  void CompletePage(const Response& response);

  // The part of a table; null if there is no such table, and so no traffic on it.
  Part* PartOf(const std::string& table_name);
  Part* NewPart(const std::string& table_name);
  void AddKey(const std::string& table_name, model::ItemView key);
  void AddPut(const std::string& table_name, model::ItemView item);
  template <typename Request>
  void DescribePage(const Request& request,
                    const std::optional<std::vector<ops::LegacyCondition>>& legacy_filter);
  void SplitOff(Part* part, std::vector<request_log::KeyUse> unprocessed);

  void Count(std::optional<ops::ConsumedCapacity>* capacity);
  void Count(std::optional<std::vector<ops::ConsumedCapacity>>* capacities);
  void CountOne(const ops::ConsumedCapacity& capacity);
  void Strip(ops::ConsumedCapacity* capacity) const;
  void Fail(ErrorCode code);
  std::vector<request_log::Request> TakeRequests();

  const ops::Environment& environment_;
  const std::string_view operation_;
  const std::string account_;
  const bool tells_accounts_;
  const int64_t at_micros_;
  const std::optional<ops::ReturnConsumedCapacity> wanted_;
  bool writes_ = false;
  std::vector<Part> parts_;
};

}  // namespace stator::api
