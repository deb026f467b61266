// The APIs of IAM and STS, in the Query protocol: forms in, XML out.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "access/verifier.h"
#include "audit/trail.h"
#include "guard/check.h"
#include "guard/gate.h"
#include "iam/form.h"
#include "iam/provider_keys.h"
#include "identity/identities.h"
#include "ops/context.h"

namespace stator::iam {

struct Reply {
  int status = 200;
  std::string body;        // XML
  std::string request_id;  // that the body shows
  std::string error;       // the error's code; empty: none
  std::string message;     // of the error
};

// A call whose signature was verified, or one that Run verifies by the token in it.
struct Prepared {
  std::string action;  // "CreateUser"
  bool sts = false;
  Form form;
  access::VerifiedRequest verified;
  bool by_token = false;
  std::string provider;  // whose keys have to be fetched; empty: none
};

// Thread-safe.
class Service {
 public:
  // `gate` must have Mode::kEnforce: with one that only warns, every caller could create access
  // keys. `audit` gets a record of each call; null: no audit log. All must outlive the service.
  // `documents` reads the documents of identity providers; null: over HTTP.
  Service(identity::Identities& identities, guard::Gate& gate, const ops::Environment& environment,
          audit::Trail* audit = nullptr, std::unique_ptr<DocumentSource> documents = nullptr);
  ~Service();

  // True for a request of the Query protocol: a form that is posted to "/", or a GET of "/" with
  // an Action in its query.
  static bool Owns(std::string_view method, std::string_view target, std::string_view content_type);

  // Reads and verifies a request; never blocks. An error is to be rendered by RenderError.
  Result<Prepared> Prepare(const access::HttpRequestView& http, const guard::Peer* peer = nullptr);
  // Reads a call of IAM that does not come from an HTTP request (`stator iam`). `form` is a text
  // for Form::Parse; `caller` is trusted. An error has a sentence for people.
  Result<Prepared> PrepareLocal(std::string_view form,
                                std::shared_ptr<const access::Caller> caller);
  // Fetches the keys of the call's identity provider, if it needs them, and calls `then` once: at
  // once or from another thread. Never blocks; to be called before Run.
  void FetchKeys(const Prepared& call, UniqueFunction<void()> then);
  // Ends fetches under way. Later ones are refused.
  void StopFetching() { provider_keys_.Stop(); }
  // Authorizes the call and performs it. Blocks on the store and, for a change, on the audit log.
  Reply Run(Prepared call, const access::HttpRequestView& http, const guard::Peer* peer);
  // Returns the reply of a call that was not prepared.
  Reply RenderError(const Error& error, bool sts) const;

 private:
  struct Entry;

  Result<std::string> Perform(Prepared& call, const access::HttpRequestView& http,
                              const guard::Peer* peer, guard::Judgements* judgements);
  Reply Render(const Prepared& call, const Result<std::string>& result) const;
  std::string RequestId() const;
  // Audits a call that did not verify.
  void AuditRefused(const Prepared& call, const access::HttpRequestView& http,
                    const guard::Peer* peer, const Error& error);
  const Entry& EntryOf(const Prepared& call) const;

  identity::Identities& identities_;
  guard::Gate& gate_;
  const ops::Environment& environment_;
  audit::Trail* const audit_;
  ProviderKeys provider_keys_;
  std::map<std::string, Entry, std::less<>> entries_;  // by "iam:CreateUser"
};

}  // namespace stator::iam
