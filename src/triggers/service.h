// Lambda's API of event source mappings (REST and JSON), for streams of tables.
//
//   POST   /2015-03-31/event-source-mappings          CreateEventSourceMapping
//   GET    /2015-03-31/event-source-mappings          ListEventSourceMappings
//   GET    /2015-03-31/event-source-mappings/UUID     GetEventSourceMapping
//   PUT    /2015-03-31/event-source-mappings/UUID     UpdateEventSourceMapping
//   DELETE /2015-03-31/event-source-mappings/UUID     DeleteEventSourceMapping
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/sigv4.h"
#include "audit/trail.h"
#include "base/result.h"
#include "guard/gate.h"
#include "ops/context.h"
#include "triggers/runner.h"

namespace stator::triggers {

struct Reply {
  int status = 200;
  std::string error_type;  // of the header x-amzn-ErrorType; empty: success
  std::string body;        // JSON
};

// Thread-safe.
class Service {
 public:
  static constexpr size_t kMostBodyBytes = 128 << 10;

  // `gate` verifies and authorizes; null: a call needs a signature in form alone, if `require_auth`
  // says so. `audit` takes records of calls; it may be null. All must outlive the service.
  Service(ops::Environment& environment, Runner& runner, guard::Gate* gate, audit::Trail* audit,
          bool require_auth)
      : environment_(environment),
        runner_(runner),
        gate_(gate),
        audit_(audit),
        require_auth_(require_auth) {}

  // Whether the target of a request is one of this API.
  static bool Owns(std::string_view target);

  // Performs a call. Blocks on the store.
  Reply Run(const access::HttpRequestView& http, const guard::Peer* peer);
  // Returns the reply to a call that is not run.
  static Reply RenderError(const Error& error);

 private:
  struct Call;
  struct Row;
  static const Row* FindRow(std::string_view method, bool has_uuid);
  // Adds the caller and the decisions to the record.
  Result<Reply> Perform(const Row& row, std::string_view uuid, const access::HttpRequestView& http,
                        const guard::Peer* peer, audit::Record* record);
  Result<Reply> Create(const Call& call);
  Result<Reply> Get(const Call& call);
  Result<Reply> List(const Call& call);
  Result<Reply> Update(const Call& call);
  Result<Reply> Delete(const Call& call);
  // Requires the right to the call.
  Status Require(const Call& call) const;
  // Returns why a mapping cannot be one to this function.
  Status CheckFits(const Mapping& mapping, const FunctionSettings& function) const;
  std::string Render(const Mapping& mapping, const Tally::Result& result,
                     std::string_view state) const;
  std::string ArnOf(std::string_view uuid) const;
  std::string FunctionArnOf(std::string_view function) const;
  std::string StreamArnOf(const Mapping& mapping) const;

  ops::Environment& environment_;
  Runner& runner_;
  guard::Gate* const gate_;
  audit::Trail* const audit_;
  const bool require_auth_;
};

}  // namespace stator::triggers
