package dev.genv.enforcer;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** Arrows point inwards: {@code api, telemetry, remote, node, config -> enforcement -> policy -> model}. */
class ArchitectureTest {
    private static final String ROOT = "dev.genv.enforcer";
    private static final JavaClasses CLASSES = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages(ROOT);

    @Test
    void thereIsSomethingToLookAt() {
        assertThat(CLASSES.contain(ROOT + ".model.Fleet")).isTrue();
        assertThat(CLASSES.contain(ROOT + ".policy.Policy")).isTrue();
        assertThat(CLASSES.contain(ArchitectureTest.class)).isFalse();
    }

    @Test
    void arrowsPointInwards() {
        layeredArchitecture()
                .consideringOnlyDependenciesInLayers()
                .withOptionalLayers(true)
                .layer("model")
                .definedBy(in("model"))
                .layer("policy")
                .definedBy(in("policy"))
                .layer("format")
                .definedBy(in("format"))
                .layer("enforcement")
                .definedBy(in("enforcement"))
                .layer("node")
                .definedBy(in("node"))
                .layer("remote")
                .definedBy(in("remote"))
                .layer("api")
                .definedBy(in("api"))
                .layer("telemetry")
                .definedBy(in("telemetry"))
                .layer("config")
                .definedBy(in("config"))
                .whereLayer("model")
                .mayNotAccessAnyLayer()
                .whereLayer("policy")
                .mayOnlyAccessLayers("model")
                .whereLayer("format")
                .mayOnlyAccessLayers("model")
                .whereLayer("format")
                .mayOnlyBeAccessedByLayers("node", "remote", "api", "config")
                .whereLayer("enforcement")
                .mayOnlyAccessLayers("policy", "model")
                .whereLayer("node")
                .mayOnlyBeAccessedByLayers("config")
                .whereLayer("remote")
                .mayOnlyBeAccessedByLayers("config")
                .whereLayer("api")
                .mayOnlyBeAccessedByLayers("config")
                .whereLayer("telemetry")
                .mayOnlyBeAccessedByLayers("config")
                .whereLayer("config")
                .mayNotBeAccessedByAnyLayer()
                .check(CLASSES);
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
    void neitherOfThemReachesOutside() {
        noClasses()
                .that()
                .resideInAnyPackage(in("model"), in("policy"))
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("java.io..", "java.net..", "java.nio.file..", "java.nio.channels..")
                .orShould()
                .dependOnClassesThat()
                .haveFullyQualifiedName("java.time.Clock")
                .check(CLASSES);
    }

    @Test
    void packagesFormNoCircle() {
        slices().matching(ROOT + ".(*)..").should().beFreeOfCycles().check(CLASSES);
    }

    @Test
    void namesSayWhatThingsAre() {
        noClasses().should().haveNameMatching(".*(Helper|Manager|Impl|Utils?)").check(CLASSES);
        noClasses()
                .should()
                .resideInAnyPackage("..util..", "..utils..", "..common..")
                .check(CLASSES);
    }

    private static String in(String part) {
        return ROOT + "." + part + "..";
    }
}
