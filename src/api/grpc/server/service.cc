// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/server/service.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "api/grpc/server/stall_watch.h"

namespace keymill::api::grpc {
namespace {

namespace v1 = keymill::v1;

template <typename Keys>
void AppendKeys(std::string_view lines, Keys& keys) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    keys.Add()->assign(lines.data(), end);
    lines.remove_prefix(end + 1);
  }
}

class MintReactor final : public ::grpc::ServerUnaryReactor, private Driver {
 public:
  MintReactor(Calls& calls, ::grpc::CallbackServerContext& context, const v1::MintRequest& request,
              v1::MintResponse& response)
      : Driver(calls, Method::kMint, context), response_(response) {
    left_ = request.has_count() ? request.count() : 1;
    const Problem refusal = host().CheckCount("count", left_, kMintMax);
    response.set_keyspace(request.keyspace().empty() ? host().DefaultKeyspace()
                                                     : request.keyspace());
    auto call = host().Mint(request.keyspace(), /*stream=*/false, MakeWake());
    mint_ = call.get();
    mint_->wanted = left_;
    Begin(std::move(call), refusal);
  }

 private:
  bool Got() override {
    AppendKeys(mint_->lines, *response_.mutable_keys());
    left_ -= mint_->taken;
    mint_->wanted = left_;
    if (left_ > 0) return true;
    End(::grpc::Status::OK);
    return false;
  }
  void Failed(const Problem& problem) override {
    // What was taken is issued: better fewer keys than asked for than keys that are lost.
    End(response_.keys().empty() ? StatusOfProblem(problem) : ::grpc::Status::OK);
  }
  void DoFinish(::grpc::Status status) override { Finish(std::move(status)); }
  void OnCancel() override { Gone(); }
  void OnDone() override { delete this; }

  v1::MintResponse& response_;
  MintCall* mint_;
  std::uint32_t left_;
};

// One message is on its way at a time: a caller that does not read gets no further ones, and none
// is made for it.
class MintStreamReactor final : public ::grpc::ServerWriteReactor<v1::MintStreamResponse>,
                                private Driver {
 public:
  MintStreamReactor(Calls& calls, ::grpc::CallbackServerContext& context,
                    const v1::MintStreamRequest& request)
      : Driver(calls, Method::kMintStream, context),
        watch_(std::make_shared<StallWatch>(host().WriteTimeout(),
                                            [&context] { context.TryCancel(); })) {
    left_ = request.has_count() ? request.count() : 1;
    batch_ = request.has_batch() ? request.batch() : kBatchDefault;
    Problem refusal = host().CheckCount("count", left_, kStreamMax);
    if (refusal.ok()) refusal = host().CheckCount("batch", batch_, kBatchMax);
    auto call = host().Mint(request.keyspace(), /*stream=*/true, MakeWake());
    mint_ = call.get();
    mint_->wanted = NextBatch();
    Begin(std::move(call), refusal);
  }

 private:
  [[nodiscard]] std::uint32_t NextBatch() const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(left_, batch_));
  }

  bool Got() override {
    message_.clear_keys();
    AppendKeys(mint_->lines, *message_.mutable_keys());
    left_ -= mint_->taken;
    mint_->wanted = NextBatch();
    watch_->WriteBegins();
    StartWrite(&message_);
    return false;
  }
  void OnWriteDone(bool ok) override {
    watch_->WriteEnds();
    if (!ok) return End(::grpc::Status::CANCELLED);
    if (left_ == 0) return End(::grpc::Status::OK);
    if (stopping()) return End(StatusOfProblem(host().Draining()));
    Advance();
  }
  void DoFinish(::grpc::Status status) override { Finish(std::move(status)); }
  void OnCancel() override { Gone(); }
  void OnDone() override {
    watch_->Stop();
    delete this;
  }

  // A write that nobody takes cannot be followed by a status: the stream is cut.
  const std::shared_ptr<StallWatch> watch_;
  MintCall* mint_;
  std::uint64_t left_;
  std::uint32_t batch_;
  v1::MintStreamResponse message_;
};

// A call with one answer.
template <typename Answer>
class AnswerReactor final : public ::grpc::ServerUnaryReactor, private Driver {
 public:
  using Ask = std::function<std::unique_ptr<AnswerCall<Answer>>(Host&, Wake)>;
  using Fill = std::function<void(Answer&)>;

  AnswerReactor(Calls& calls, Method method, ::grpc::CallbackServerContext& context, const Ask& ask,
                Fill fill, const Problem& refusal = {})
      : Driver(calls, method, context), fill_(std::move(fill)) {
    auto call = ask(host(), MakeWake());
    asked_ = call.get();
    Begin(std::move(call), refusal);
  }

 private:
  bool Got() override {
    fill_(asked_->answer);
    End(::grpc::Status::OK);
    return false;
  }
  void DoFinish(::grpc::Status status) override { Finish(std::move(status)); }
  void OnCancel() override { Gone(); }
  void OnDone() override { delete this; }

  const Fill fill_;
  AnswerCall<Answer>* asked_;
};

void FillExplain(Explained& from, v1::ExplainResponse& to) {
  to.set_keyspace(std::move(from.keyspace));
  to.set_state(static_cast<v1::ExplainResponse::State>(from.state));
  to.set_kind(std::move(from.kind));
  if (from.number) to.set_number(*std::move(from.number));
  if (from.index) to.set_index(*std::move(from.index));
  if (from.time) to.set_time(*std::move(from.time));
  if (from.worker) to.set_worker(*from.worker);
  if (from.sequence) to.set_sequence(*from.sequence);
  if (from.block) {
    v1::Block& block = *to.mutable_block();
    block.set_id(std::move(from.block->id));
    block.set_first(std::move(from.block->first));
    block.set_count(std::move(from.block->count));
    block.set_state(std::move(from.block->state));
    block.set_instance(std::move(from.block->instance));
    block.set_reserved_at(std::move(from.block->reserved_at));
  }
  if (from.record) {
    v1::Record& record = *to.mutable_record();
    record.set_state(std::move(from.record->state));
    record.set_since(std::move(from.record->since));
    record.set_instance(std::move(from.record->instance));
    record.set_owner(std::move(from.record->owner));
    record.set_expires_at(std::move(from.record->expires_at));
    record.set_generation(std::move(from.record->generation));
  }
}

void FillKeyspaces(KeyspacePage& from, v1::ListKeyspacesResponse& to) {
  for (KeyspacePage::Row& row : from.rows) {
    v1::Keyspace& keyspace = *to.add_keyspaces();
    keyspace.set_name(std::move(row.name));
    keyspace.set_kind(std::move(row.kind));
    keyspace.set_state(std::move(row.state));
    keyspace.set_reason(std::move(row.reason));
    keyspace.set_recipe(std::move(row.recipe));
    keyspace.set_created_at(std::move(row.created_at));
    if (row.capacity) keyspace.set_capacity(*std::move(row.capacity));
    if (row.used) keyspace.set_used(*std::move(row.used));
    if (row.left) keyspace.set_left(*std::move(row.left));
  }
  to.set_next_page_token(std::move(from.next));
}

}  // namespace

::grpc::ServerUnaryReactor* KeymillService::Mint(::grpc::CallbackServerContext* context,
                                                 const v1::MintRequest* request,
                                                 v1::MintResponse* response) {
  return new MintReactor(calls_, *context, *request, *response);
}

::grpc::ServerWriteReactor<v1::MintStreamResponse>* KeymillService::MintStream(
    ::grpc::CallbackServerContext* context, const v1::MintStreamRequest* request) {
  return new MintStreamReactor(calls_, *context, *request);
}

::grpc::ServerUnaryReactor* KeymillService::Explain(::grpc::CallbackServerContext* context,
                                                    const v1::ExplainRequest* request,
                                                    v1::ExplainResponse* response) {
  return new AnswerReactor<Explained>(
      calls_, Method::kExplain, *context,
      [request](Host& host, Wake wake) {
        return host.Explain(request->keyspace(), request->key(), std::move(wake));
      },
      [request, response](Explained& answer) {
        FillExplain(answer, *response);
        response->set_key(request->key());
      });
}

::grpc::ServerUnaryReactor* KeymillService::Claim(::grpc::CallbackServerContext* context,
                                                  const v1::ClaimRequest* request,
                                                  v1::ClaimResponse* response) {
  return new AnswerReactor<Claimed>(
      calls_, Method::kClaim, *context,
      [request](Host& host, Wake wake) {
        return host.Claim(request->keyspace(), request->alias(), request->owner(), std::move(wake));
      },
      [request, response](Claimed& answer) {
        response->set_keyspace(std::move(answer.keyspace));
        response->set_key(request->alias());
        response->set_owner(request->owner());
        response->set_existing(answer.existing);
      });
}

::grpc::ServerUnaryReactor* KeymillService::Derive(::grpc::CallbackServerContext* context,
                                                   const v1::DeriveRequest* request,
                                                   v1::DeriveResponse* response) {
  return new AnswerReactor<Derived>(
      calls_, Method::kDerive, *context,
      [request](Host& host, Wake wake) {
        return host.Derive(request->keyspace(), request->content(), request->salt(),
                           std::move(wake));
      },
      [response](Derived& answer) {
        response->set_keyspace(std::move(answer.keyspace));
        response->set_key(std::move(answer.key));
        response->set_existing(answer.existing);
      });
}

::grpc::ServerUnaryReactor* KeymillService::ListKeyspaces(::grpc::CallbackServerContext* context,
                                                          const v1::ListKeyspacesRequest* request,
                                                          v1::ListKeyspacesResponse* response) {
  const std::uint32_t limit = request->has_page_size() ? request->page_size() : kPageDefault;
  return new AnswerReactor<KeyspacePage>(
      calls_, Method::kListKeyspaces, *context,
      [request, limit](Host& host, Wake wake) {
        return host.ListKeyspaces(limit, request->page_token(), std::move(wake));
      },
      [response](KeyspacePage& answer) { FillKeyspaces(answer, *response); },
      calls_.host().CheckCount("page_size", limit, kPageMax));
}

}  // namespace keymill::api::grpc
