package dev.genv.enforcer;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import io.quarkus.test.junit.QuarkusTest;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Dependencies point one way: {@code api, telemetry, remote, node, config -> enforcement -> observation, policy -> host, model}. */
class ArchitectureTest {
    private static final String ROOT = "dev.genv.enforcer";
    /** Only config knows the adapters, and no other package knows config. */
    private static final Map<String, List<String>> MAY_KNOW = Map.ofEntries(
            entry("model", List.of()),
            entry("linux", List.of("model")),
            entry("host", List.of("model")),
            entry("policy", List.of("model")),
            entry("policyfile", List.of("observation", "policy", "model", "linux")),
            entry("genv", List.of("model", "linux")),
            entry("gpu", List.of("host", "model")),
            entry("observation", List.of("host", "model", "genv", "gpu", "linux")),
            entry("enforcement", List.of("observation", "policy", "host", "model", "genv", "linux")),
            entry("node", List.of("enforcement", "host", "model", "genv", "gpu", "linux")),
            entry("store", List.of("enforcement", "policy", "model", "genv", "linux")),
            entry("remote", List.of("enforcement", "host", "model", "genv", "gpu", "linux")),
            entry("recording", List.of("store", "enforcement", "observation", "policy", "host", "model", "genv")),
            entry(
                    "api",
                    List.of(
                            "store",
                            "recording",
                            "enforcement",
                            "observation",
                            "policyfile",
                            "policy",
                            "model",
                            "genv",
                            "linux")),
            entry("notification", List.of("enforcement", "policy", "model", "genv", "linux")),
            entry("telemetry", List.of("enforcement", "observation", "policy", "model")),
            entry(
                    "config",
                    List.of(
                            "enforcement",
                            "policyfile",
                            "policy",
                            "model",
                            "linux",
                            "observation",
                            "node",
                            "store",
                            "remote",
                            "recording",
                            "api",
                            "notification",
                            "telemetry")));

    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages(ROOT);

    @Test
    void importsTheClassesOfTheService() {
        assertThat(CLASSES.contain(ROOT + ".model.Fleet")).isTrue();
        assertThat(CLASSES.contain(ROOT + ".policy.Policy")).isTrue();
        assertThat(CLASSES.contain(ArchitectureTest.class)).isFalse();
    }

    @Test
    void arrowsPointInwards() {
        var layers = layeredArchitecture().consideringOnlyDependenciesInLayers().withOptionalLayers(true);
        for (var part : MAY_KNOW.keySet()) {
            layers = layers.layer(part).definedBy(in(part));
        }
        for (var part : MAY_KNOW.entrySet()) {
            var known = part.getValue().toArray(String[]::new);
            var layer = layers.whereLayer(part.getKey());
            layers = known.length == 0 ? layer.mayNotAccessAnyLayer() : layer.mayOnlyAccessLayers(known);
        }
        layers.check(CLASSES);
    }

    @Test
    void theModelKnowsJavaAlone() {
        classes()
                .that()
                .resideInAPackage(in("model"))
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "org.jspecify..", in("model"))
                .check(CLASSES);
    }

    @Test
    void thePolicyKnowsTheModelAlone() {
        classes()
                .that()
                .resideInAPackage(in("policy"))
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "org.jspecify..", in("policy"), in("model"))
                .check(CLASSES);
    }

    @Test
    void theyKnowNeitherThreadsNorClocksNorFiles() {
        noClasses()
                .that()
                .resideInAnyPackage(in("model"), in("policy"))
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "java.io..", "java.net..", "java.nio.file..", "java.nio.channels..", "java.util.concurrent..")
                .orShould()
                .dependOnClassesThat()
                .haveNameMatching("java\\.time\\.Clock|java\\.lang\\.(Thread|System|Process.*)")
                .check(CLASSES);
    }

    /** Facts are interpreted without looking again, so that the same facts always give the same observation. */
    @Test
    void observationKnowsNeitherFilesNorThreadsNorClocks() {
        noClasses()
                .that()
                .resideInAPackage(in("observation"))
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "java.io..",
                        "java.net..",
                        "java.nio.channels..",
                        "java.util.concurrent..",
                        "org.jboss.logging..")
                .orShould()
                .dependOnClassesThat()
                .haveNameMatching(
                        "java\\.nio\\.file\\.Files|java\\.lang\\.(Thread|System)|java\\.time\\.(Clock|Instant)")
                .check(CLASSES);
    }

    @Test
    void packagesFormNoCircle() {
        slices().matching(ROOT + ".(**)").should().beFreeOfCycles().check(CLASSES);
    }

    /** Agents do not depend on SSH, and SSH does not depend on agents. */
    @Test
    void waysAndAgentsDoNotKnowEachOther() {
        slices().matching(ROOT + ".remote.(*)").should().notDependOnEachOther().check(CLASSES);
        noClasses()
                .that()
                .resideInAPackage(ROOT + ".remote")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(ROOT + ".remote.*..")
                .check(CLASSES);
    }

    /** Adapters deliver facts and execute orders, and interpret nothing. */
    @Test
    void adaptersKnowOnlyTheirPortInTheEnforcement() {
        noClasses()
                .that()
                .resideInAnyPackage(in("node"), in("remote"))
                .should()
                .dependOnClassesThat(
                        resideInAPackage(in("enforcement")).and(not(resideInAPackage(in("enforcement.host")))))
                .check(CLASSES);
    }

    @Test
    void namesSayWhatThingsAre() {
        noClasses().should().haveNameMatching(".*(Helper|Manager|Impl|Utils?)").check(CLASSES);
        noClasses()
                .should()
                .resideInAnyPackage("..util..", "..utils..", "..common..")
                .check(CLASSES);
    }

    /** Two forks with a Quarkus test disturb each other, so these tests run in one fork, which selects them by this tag. */
    @Test
    void everyQuarkusTestHasTheTagOfItsFork() {
        classes()
                .that()
                .areAnnotatedWith(QuarkusTest.class)
                .should()
                .beAnnotatedWith(describe(
                        "@Tag(\"quarkus\")",
                        annotation -> annotation.getRawType().isEquivalentTo(Tag.class)
                                && annotation
                                        .get("value")
                                        .filter("quarkus"::equals)
                                        .isPresent()))
                .check(new ClassFileImporter().importPackages(ROOT));
    }

    private static String in(String part) {
        return ROOT + "." + part + "..";
    }
}
