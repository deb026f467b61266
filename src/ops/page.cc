#include "ops/page.h"

#include <memory>

#include "ops/item_read.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

// Reads a page in steps; each goes on where the one before stopped.
class PageReader {
 public:
  PageReader(table::Store& store, PageRequest request) : store_(store), request_(std::move(request)) {}

  // Reads about `budget` bytes. True when the page is complete.
  Result<bool> Step(kv::Tier tier, int64_t budget) {
    if (request_.begin >= request_.end) return true;
    int64_t step_bytes = 0;
    bool complete = true;
    TRY(store_.Scan(*request_.table, request_.begin, request_.end, request_.reverse, tier,
                    [&](std::string_view key, model::ItemView item) {
                      cursor_.assign(key);
                      moved_ = true;
                      if (!Take(key, item)) return false;
                      step_bytes += static_cast<int64_t>(item.size_bytes());
                      complete = step_bytes < budget;
                      return complete;
                    }));
    if (complete) return true;
    Advance();
    return false;
  }

  // After a step that did not end the page, for whatever reason: go on behind the last item taken.
  void Advance() {
    if (!moved_) return;
    moved_ = false;
    if (request_.reverse) {
      request_.end = cursor_;
    } else {
      request_.begin = cursor_;
      request_.begin.push_back('\0');
    }
  }

  Page TakePage() { return std::move(page_); }

 private:
  // False when the page is full.
  bool Take(std::string_view key, model::ItemView item) {
    const int64_t bytes = static_cast<int64_t>(item.size_bytes());
    ++page_.scanned_count;
    page_.bytes += bytes;
    page_.last_hash = table::HashOfKey(key);
    const size_t partition = request_.table->descriptor.partitions.Find(page_.last_hash);
    if (page_.partition_bytes.empty() || page_.partition_bytes.back().first != partition) {
      page_.partition_bytes.emplace_back(partition, 0);
    }
    page_.partition_bytes.back().second += bytes;

    if (expr::Evaluate(request_.filter, item)) {
      ++page_.count;
      if (!request_.count_only) {
        page_.items.push_back(request_.projection.present() ? expr::Project(request_.projection, item)
                                                            : std::string(item.encoded()));
      }
    }
    if (page_.bytes < kMaxPageBytes && !(request_.limit && page_.scanned_count >= *request_.limit)) return true;
    page_.last_evaluated_key = table::KeyAttributesOf(request_.table->key_schema(), item);
    return false;
  }

  table::Store& store_;
  PageRequest request_;
  Page page_;
  std::string cursor_;
  bool moved_ = false;
};

}  // namespace

void ReadPage(Context& ctx, PageRequest request, UniqueFunction<void(Result<Page>)> done) {
  auto reader = std::make_shared<PageReader>(ctx.env.store, std::move(request));
  Result<bool> complete = reader->Step(kv::Tier::kMemory, kInlinePageBytes);
  if (complete.ok() && *complete) {
    done(reader->TakePage());
    return;
  }
  if (!complete.ok()) {
    if (complete.error().code() != ErrorCode::kWouldBlock) {
      done(std::move(complete).error());
      return;
    }
    reader->Advance();
  }
  Executor& loop = ctx.loop;
  auto shared_done = std::make_shared<UniqueFunction<void(Result<Page>)>>(std::move(done));
  UniqueFunction<void()> rest = [reader, shared_done, &loop] {
    const Result<bool> finished = reader->Step(kv::Tier::kAny, INT64_MAX);
    auto page = std::make_shared<Result<Page>>(finished.ok() ? Result<Page>(reader->TakePage())
                                                             : Result<Page>(finished.error()));
    loop.Post([shared_done, page] { (*shared_done)(std::move(*page)); });
  };
  if (!ctx.env.workers.TryPost(rest)) (*shared_done)(Overloaded());
}

}  // namespace stator::ops
