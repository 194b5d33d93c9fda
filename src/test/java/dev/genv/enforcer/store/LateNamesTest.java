package dev.genv.enforcer.store;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What was recorded under a uid is the user's as soon as the name is known. */
class LateNamesTest extends StoreFixture {
    private static final HostBuilder EMPTY = host().devices(2);
    private static final Workload CONTAINER = new Workload(null, new Container("0".repeat(64)), null, null);

    @Test
    void violationThatIsOverGetsItsNameInMemoryAndInTheDatabase() throws Exception {
        observeAndEnd(host().devices(2).with(process(7).uid(1001).uses(0)));
        assertThat(users()).containsExactly("1001");
        restart();
        node.setAccounts(Map.of("raz", 1001L));
        cycle();
        assertThat(users()).containsExactly("raz");
        assertThat(only().violation().isOfUser("raz")).isTrue();
        stop();
        assertThat(query("SELECT COUNT(*) FROM violation WHERE user = 'raz' AND owner = 'raz'"))
                .isEqualTo(1);
        assertThat(query("SELECT COUNT(*) FROM action WHERE user = '1001' OR owner = 'uid:1001'"))
                .isZero();
        assertThat(query("SELECT SUM(bytes) FROM size WHERE owner = 'raz' AND kind = 'violation'"))
                .isEqualTo(query("SELECT SUM(bytes) FROM violation"));
        start();
        cycle();
        assertThat(users()).containsExactly("raz");
    }

    @Test
    void violationThatStillIsThereHasOneRowUnderTheName() throws Exception {
        var stray = host().devices(2).with(process(7).uid(1001).uses(0));
        node.setSnapshot(stray);
        cycle();
        node.setAccounts(Map.of("raz", 1001L));
        cycle();
        assertThat(users()).containsExactly("raz");
        stop();
        assertThat(query("SELECT COUNT(*) FROM violation WHERE user = 'raz'")).isEqualTo(1);
        assertThat(query("SELECT COUNT(*) FROM violation")).isEqualTo(1);
    }

    @Test
    void hoursOfTheUidAreAddedToThoseOfTheName() throws Exception {
        observeAndEnd(host().devices(2).with(process(7).uid(1001).uses(0)));
        stop();
        query(
                "INSERT INTO usage (hour, host, user, held, present, used, unknown, idle) VALUES (0, 'here', '1001', 1, 2,"
                        + " 3, 4, 5), (0, 'here', 'raz', 10, 20, 30, 40, 50), (0, 'other', '1001', 1, 1, 1, 1, 1)");
        start();
        node.setAccounts(Map.of("raz", 1001L));
        cycle();
        stop();
        assertThat(query("SELECT held || present || used || unknown || idle FROM usage WHERE user = 'raz'"))
                .isEqualTo(1122334455L);
        assertThat(query("SELECT COUNT(*) FROM usage WHERE user = '1001'"))
                .as("of the other host")
                .isEqualTo(1);
    }

    /** An account may have a number as its name, also that of its own uid. */
    @Test
    void hoursOfAnAccountThatIsNamedByItsUidStay() throws Exception {
        observeAndEnd(host().devices(2).with(process(7).uid(1001).uses(0)));
        stop();
        query(
                "INSERT INTO usage (hour, host, user, held, present, used, unknown, idle) VALUES (0, 'here', '1001', 1, 2, 3, 4, 5)");
        start();
        node.setAccounts(Map.of("1001", 1001L));
        cycle();
        stop();
        assertThat(
                        query(
                                "SELECT held || present || used || unknown || idle FROM usage WHERE user = '1001' AND hour = 0"))
                .isEqualTo(12_345);
        assertThat(query("SELECT COUNT(*) FROM action WHERE owner = 'uid:1001'"))
                .isZero();
    }

    /** Users record any names, which earlier versions wrote as owners. */
    @Test
    void ownerThatOnlyLooksLikeAUidStays() throws Exception {
        observeAndEnd(host().devices(2).with(process(7).uid(1001).uses(0)));
        stop();
        query("UPDATE action SET owner = 'uid:1x'");
        query("UPDATE violation SET owner = 'uid:99999999999'");
        start();
        node.setAccounts(Map.of("raz", 1001L));
        cycle();
        stop();
        assertThat(query("SELECT COUNT(*) FROM action WHERE owner = 'uid:1x'")).isPositive();
        assertThat(query("SELECT COUNT(*) FROM violation WHERE owner = 'uid:99999999999'"))
                .isEqualTo(1);
    }

    /** In a container of root the uid may be anybody's. */
    @Test
    void processInAContainerOfRootKeepsItsNumber() throws Exception {
        observeAndEnd(
                host().devices(2).with(process(7).uid(1001).workload(CONTAINER).uses(0)));
        node.setAccounts(Map.of("raz", 1001L));
        cycle();
        assertThat(users()).containsExactly("1001");
        stop();
        assertThat(query("SELECT COUNT(*) FROM violation WHERE user = '1001' AND owner = ''"))
                .isEqualTo(1);
    }

    private void observeAndEnd(HostBuilder observed) {
        node.setSnapshot(observed);
        cycle();
        node.setSnapshot(EMPTY);
        cycle();
        assertThat(only().active()).isFalse();
    }

    private List<String> users() {
        return registry.find(_ -> true, 10).stream()
                .map((ViolationRecord entry) -> entry.violation().countedUser())
                .toList();
    }
}
