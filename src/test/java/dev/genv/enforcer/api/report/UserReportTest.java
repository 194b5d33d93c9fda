package dev.genv.enforcer.api.report;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.groups.Tuple.tuple;

import dev.genv.enforcer.api.report.UserList.UserSummary;
import dev.genv.enforcer.api.report.UsersResource.AttachedView;
import dev.genv.enforcer.api.report.UsersResource.LimitView;
import dev.genv.enforcer.api.report.UsersResource.UsageView;
import dev.genv.enforcer.api.report.UsersResource.UserProcessView;
import dev.genv.enforcer.api.report.UsersResource.UserView;
import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.enforcement.CurrentPolicy;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Accounts.Groups;
import dev.genv.enforcer.policy.PolicyInForce;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policyfile.PolicyReader;
import dev.genv.enforcer.recording.DeviceHistory;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UserReportTest {
    private static final LocalDateTime SINCE = LocalDateTime.of(2026, 11, 20, 9, 22, 28);

    private final FakeTime time = new FakeTime();
    private final ViolationRegistry registry = new ViolationRegistry(200);
    private final FakeHost one = new FakeHost(host("gpu-1").devices(4));
    private final FakeHost two = new FakeHost(host("gpu-2").devices(4));
    private final EnforcerConfig config = EnforcerConfigBuilder.enforcerConfig(one, two)
            .rules(
                    Map.of(
                            KnownRules.NON_ENV_PROCESSES, RuleMode.AUDIT,
                            KnownRules.MAX_DEVICES_PER_USER, RuleMode.AUDIT),
                    new Limits(null, Map.of("raz", 1)))
            .build();
    private final Enforcer enforcer =
            EnforcerFactory.create(config, NoStore.records(registry), time.ticker(), List.of());

    @Test
    void listsTheDevicesOfAllHosts() {
        two.setSnapshot(host("gpu-2").devices(4).with(env("a").attachedAt("yesterday", 3)));
        observe(host("gpu-1").devices(4).with("env a on 1", "env b on 0,1", "env c of paul on 2"));

        assertThat(user("raz").devices())
                .containsExactly(
                        new AttachedView("gpu-1", 0, "b", SINCE, true),
                        new AttachedView("gpu-1", 1, "a", SINCE, true),
                        new AttachedView("gpu-1", 1, "b", SINCE, true),
                        new AttachedView("gpu-2", 3, "a", null, true));
        assertThat(user("raz").devicesHeld()).as("a shared device counts once").isEqualTo(3);
        assertThat(user("raz").deviceLimit()).isEqualTo(1);
        assertThat(user("paul").deviceLimit()).isNull();
    }

    /** The count is the one that the rule reports. */
    @Test
    void countsAsTheRuleDoes() {
        observe(host("gpu-1").devices(4).unlisted(3).with("env a on 0,1,3", "env b disputed on 2"));

        assertThat(user("raz").devicesHeld()).isEqualTo(2);
        assertThat(user("raz").devices())
                .extracting(AttachedView::device, AttachedView::counted)
                .containsExactly(tuple(0, true), tuple(1, true), tuple(2, false), tuple(3, false));
        assertThat(user("raz").violations())
                .extracting(ViolationView::message)
                .containsExactly("User raz is using 2 devices which is 1 more than the maximum allowed");
    }

    /** The quota does not check such a host, because it would not know which devices are idle. */
    @Test
    void countsNothingOnAHostThatWasNotObservedCompletely() {
        observe(host("gpu-1").devices(4).with("missing EVERY_PROCESS", "env a on 0,1"));

        assertThat(user("raz").devicesHeld()).isZero();
        assertThat(user("raz").devices()).hasSize(2);
    }

    @Test
    void aUserWithoutANameIsTheUid() {
        observe(host("gpu-1").devices(4).with("env a unnamed uid 1003 on 0", "process 7 uid 1003 on 1"));

        assertThat(user("1003").devicesHeld()).isEqualTo(1);
        assertThat(user("1003").processes()).hasSize(1);
        assertThat(find("")).isEmpty();
        assertThat(find("0")).isEmpty();
    }

    @Test
    void aLimitOfAUidIsThatOfItsUserWithoutAnEnvironment() {
        observe(host("gpu-1").devices(4).with("process 7 uid 1003 account raz on 1"));
        var limited = KnownRules.policy(
                Map.of(KnownRules.MAX_DEVICES_PER_USER, RuleMode.ENFORCE), new Limits(2, Map.of("+1003", 5)));
        var current = CurrentPolicy.fixed(limited).get();
        assertThat(UserView.of("raz", current, registry, enforcer.latest(), FakeTime.START)
                        .orElseThrow()
                        .deviceLimit())
                .isEqualTo(5);
    }

    /** The groups of the user, the limit of devices, why, where it is from, and until when. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "-", textBlock = """
        users         | known   | 2 | default                   | hours in line 5 of the policy file | -
        users phd     | known   | 4 | group phd                 | line 1 of the policy file          | -
        phd course-ml | known   | 1 | exception of group course-ml | exception in line 4             | 2026-12-21T00:00:00Z
        ?             | unknown | - | the account or its groups are not found | -                    | -
        """)
    void aLimitHasItsReason(
            String groups,
            String state,
            @Nullable String limit,
            String because,
            @Nullable String source,
            @Nullable Instant until)
            throws IOException {
        one.setAccounts(accounts(groups));
        observe(host("gpu-1").devices(4));

        assertThat(user("raz", IN_FORCE).limits())
                .containsExactly(
                        new LimitView("max-devices-per-user", state, limit, because, source, until),
                        new LimitView("max-memory-per-user", "none", null, "no limit", null, null));
    }

    @Test
    void anOwnExceptionComesFirst() throws IOException {
        one.setAccounts(Map.of("bob", 1004L));
        observe(host("gpu-1").devices(4));

        assertThat(user("bob", IN_FORCE).limits().getFirst())
                .isEqualTo(new LimitView(
                        "max-devices-per-user",
                        "known",
                        "8",
                        "exception of user bob",
                        "exception in line 3",
                        Instant.parse("2026-12-02T00:00:00Z")));
    }

    private static final String IN_FORCE = """
        max_devices: {default: 1, groups: {phd: 4}}
        exceptions:
        - {user: bob, max_devices: 8, until: 2026-12-01}
        - {group: course-ml, max_devices: 1, until: 2026-12-20}
        hours: [{days: Mon-Sun, from: "00:00", to: "00:00", max_devices: {default: 2}}]
        """;

    private static Accounts accounts(String groups) {
        var numbers = Map.of("phd", 600L, "course-ml", 601L, "users", 100L);
        var configured = Map.of("phd", Optional.of(600L), "course-ml", Optional.of(601L));
        var theirs = groups.equals("?")
                ? Map.<String, Set<Long>>of()
                : Map.of("raz", Stream.of(groups.split(" ")).map(numbers::get).collect(Collectors.toSet()));
        return new Accounts(Map.of("raz", 1003L)).withGroups(new Groups(configured, theirs, Map.of()));
    }

    private UserView user(String name, String yaml) throws IOException {
        var document = PolicyReader.read(yaml.getBytes(StandardCharsets.UTF_8), ZoneOffset.UTC);
        var modes = PolicyReader.read(
                "rules: {max-devices-per-user: enforce}".getBytes(StandardCharsets.UTF_8), ZoneOffset.UTC);
        var values = document.at(FakeTime.START, modes.values());
        var current = new PolicyInForce(values.policy(IdleLimits.DEFAULT), values, document, Optional.empty());
        return UserView.of(name, current, registry, enforcer.latest(), FakeTime.START)
                .orElseThrow();
    }

    @Test
    void listsTheProcessesOfTheEnvironmentsAndOfTheUids() {
        two.setSnapshot(host("gpu-2").devices(4).with(process(6).uid(1003).uses(0))); // another user's uid there
        observe(host("gpu-1")
                .devices(4)
                .with("subordinate 1003 100000 1000", "env a uid 1003 on 0", "process 1 in a uid 0 on 0=7mi")
                .with("process 2 uid 1003 on 1=?", "process 3 uid 100005 on 2=9mi")
                .with("process 4 uid 1004 on 3", "process 5 uid ? on 3"));

        assertThat(user("raz").processes())
                .extracting(
                        UserProcessView::host,
                        each -> each.process().pid(),
                        UserProcessView::environment,
                        UserProcessView::devices)
                .containsExactly(
                        tuple("gpu-1", 1, "a", List.of(new UsageView(0, 7L << 20))),
                        tuple("gpu-1", 2, null, List.of(new UsageView(1, null))),
                        tuple("gpu-1", 3, null, List.of(new UsageView(2, 9L << 20))));
    }

    @Test
    void aUserOfADirectoryServiceHasTheRecordedUid() {
        observe(host("gpu-1")
                .devices(4)
                .with("env a uid 5003", "env root uid 0", "env x uid 5004 disputed")
                .with("process 1 uid 5003 on 0", "process 2 uid 0 on 0", "process 3 uid 5004 on 0"));

        assertThat(user("raz").processes())
                .extracting(each -> each.process().pid())
                .containsExactly(1);
    }

    @Test
    void listsViolationsOfTheUserAndOfTheUsersProcessesActiveOnesFirst() {
        observe(host("gpu-1")
                .devices(4)
                .with(env("a").user("raz").uid(1003).attached(0, 1))
                .with(
                        process(1).uid(1003).account("raz").uses(2),
                        process(2).uid(1004).uses(3)));
        time.pass(Duration.ofSeconds(10));
        observe(host("gpu-1")
                .devices(4)
                .with(env("a").user("raz").uid(1003).attached(0, 1))
                .with(
                        process(2).uid(1004).uses(3),
                        process(3).uid(1003).account("raz").uses(3)));

        assertThat(user("raz").violations())
                .extracting(
                        ViolationView::rule,
                        ViolationView::status,
                        each -> each.processes().size())
                .containsExactly(
                        tuple("non-env-processes", "active", 1),
                        tuple("max-devices-per-user", "active", 0),
                        tuple("non-env-processes", "resolved", 1));
    }

    @Test
    void onlyAUserOfWhomNothingIsKnownIsUnknown() {
        one.setAccounts(Map.of("known", 1005L));
        observe(host("gpu-1").devices(4));

        assertThat(user("known").devices()).isEmpty();
        assertThat(find("unknown")).isEmpty();
        assertThat(find("1006")).isEmpty();
    }

    @Test
    void everyListIsBounded() {
        var many = host("gpu-1").devices(2);
        for (var eid = 0; eid < 1100; eid++) {
            many.with(env("e" + eid).user("raz").attached(0));
            many.with(process(eid + 1).inEnvironment("e" + eid).uses(0));
        }
        observe(many);

        assertThat(user("raz").devices()).hasSize(UsersResource.MAX_ENTRIES);
        assertThat(user("raz").processes()).hasSize(UsersResource.MAX_ENTRIES);
        assertThat(user("raz").devicesHeld()).isEqualTo(1);
    }

    @Test
    void listsEachUserOnOneLine() {
        two.setSnapshot(host("gpu-2")
                .devices(4)
                .with(process(7).uid(1503).recorded("carol").uses(0, "5mi")));
        observe(host("gpu-1")
                .devices(4)
                .with(env("a").user("raz").uid(1003).account().attached(0, 1))
                .with(env("c").user("carol").uid(1503).attached(2))
                .with(env("d").disputed("they disagree").attached(3))
                .with(
                        process(1).inEnvironment("a").uid(1003).account("raz").uses(0, "7mi"),
                        process(2).uid(1503).recorded("carol").uses(0, "1mi"),
                        process(3).uid(1600).uses(3, "2mi")));

        var report = enforcer.latest().orElseThrow();
        var history = new DeviceHistory(time.ticker());
        history.accept(report);
        assertThat(new UserList(report.fleet(), config.policy(), registry, history).view())
                .containsExactly(
                        new UserSummary("1600", null, null, 0, 1, null, 2 << 20, null, 1),
                        new UserSummary("carol", "recorded", null, 1, 2, null, 6 << 20, FakeTime.START, 2),
                        new UserSummary("raz", "account", 1, 2, 1, null, 7 << 20, FakeTime.START, 1));
    }

    private void observe(HostBuilder first) {
        one.setSnapshot(first);
        assertThat(enforcer.runCycle()).isPresent();
    }

    private Optional<UserView> find(String name) {
        return UserView.of(name, config.policies().get(), registry, enforcer.latest(), FakeTime.START);
    }

    private UserView user(String name) {
        return find(name).orElseThrow();
    }
}
